// What the update dialect's verifiers reject, in the order of their
// **Constraints:**.
//
// RUN: baton-opt %s --split-input-file -verify-diagnostics

!t = tensor<?x?xf32>
// expected-error @+1 {{takes 2 arguments, expected the parameter, its gradient and 1 states, of tensor<?x?xf32>, or for states tensor<?x1xf32> or tensor<1x?xf32>}}
update.rule @arguments states ["m"] {
^bb0(%p: !t, %g: !t):
  %n = update.map (%w = %p) {
    update.yield %w
  }
  update.return %n, %n
}

// -----

!t = tensor<?x?xf32>
// expected-error @+1 {{takes 2 arguments, expected the parameter, its gradient and 0 states, of tensor<?x?xf32>, or for states tensor<?x1xf32> or tensor<1x?xf32>}}
update.rule @types {
^bb0(%p: !t, %g: tensor<?xf32>):
  %n = update.map (%w = %p) {
    update.yield %w
  }
  update.return %n
}

// -----

!t = tensor<?x?xf32>
// expected-error @+1 {{state "m" has no name or one that another has}}
update.rule @states states ["m", "m"] {
^bb0(%p: !t, %g: !t, %a: !t, %b: !t):
  %n, %c, %d = update.map (%w = %p) {
    update.yield %w, %w, %w
  }
  update.return %n, %c, %d
}

// -----

!t = tensor<?x?xf32>
update.rule @endless {
^bb0(%p: !t, %g: !t):
  // expected-error @+1 {{block with no terminator}}
  %n = update.map (%w = %p) {
    update.yield %w
  }
}

// -----

!t = tensor<?x?xf32>
update.rule @stranger {
^bb0(%p: !t, %g: !t):
  // expected-error @+1 {{may not stand in a rule: it is neither of update nor an op of arith or math that computes one number from numbers}}
  %sum = arith.addf %p, %g : !t
  %n = update.map (%w = %sum) {
    update.yield %w
  }
  update.return %n
}

// -----

!t = tensor<?x?xf32>
update.rule @defaults {
^bb0(%p: !t, %g: !t):
  %a = update.number "beta" default 0.5
  // expected-error @+1 {{"beta" has another default above}}
  %b = update.number "beta" default 0.25
  %n = update.map (%w = %p) {
    update.yield %w
  }
  update.return %n
}

// -----

!t = tensor<?x?xf32>
update.rule @few states ["m"] {
^bb0(%p: !t, %g: !t, %m: !t):
  %n = update.map (%w = %p) {
    update.yield %w
  }
  // expected-error @+1 {{returns 1 values, expected the parameter and 1 states}}
  update.return %n
}

// -----

!t = tensor<?x?xf32>
update.rule @argument {
^bb0(%p: !t, %g: !t):
  // expected-error @+1 {{value 0 is no result of a map}}
  update.return %p
}

// -----

!t = tensor<?x?xf32>
update.rule @twice states ["m"] {
^bb0(%p: !t, %g: !t, %m: !t):
  %n = update.map (%w = %p) {
    update.yield %w
  }
  // expected-error @+1 {{value 1 is returned twice}}
  update.return %n, %n
}

// -----

!t = tensor<?x?xf32>
update.rule @late states ["m"] {
^bb0(%p: !t, %g: !t, %m: !t):
  %m1 = update.map (%w = %m) {
    update.yield %w
  }
  // expected-error @+1 {{reads argument 2 after the map that makes its new value, which is written over it}}
  %n = update.map (%w = %p, %old = %m) {
    update.yield %old
  }
  update.return %n, %m1
}

// -----

// expected-error @+1 {{names @nobody, and there is no update.rule of that name}}
update.group @nobody

// -----

!t = tensor<?x?xf32>
update.rule @plain {
^bb0(%p: !t, %g: !t):
  %n = update.map (%w = %p) {
    update.yield %w
  }
  update.return %n
}
// expected-error @+1 {{@plain has no number "beta"}}
update.group @plain numbers {beta = 0.5 : f32}

// -----

// expected-error @+1 {{number "beta" is no f32}}
update.group @plain numbers {beta = 0.5 : f64}

// -----

// expected-error @+1 {{rank is 3, expected 1 or 2}}
update.group @plain rank 3

// -----

// expected-error @+1 {{pattern "[": invalid glob pattern, unmatched '['}}
update.group @plain names ["["]

// -----

!t = tensor<?x?xf32>
update.rule @nameless {
^bb0(%p: !t, %g: !t):
  // expected-error @+1 {{has an empty name}}
  %a = update.number "" default 0.5
  update.return %p
}

// -----

!t = tensor<?x?xf32>
update.rule @given {
^bb0(%p: !t, %g: !t):
  // expected-error @+1 {{"step" is set by the trainer and has a default}}
  %a = update.number "step" default 0.5
  update.return %p
}

// -----

!t = tensor<?x?xf32>
update.rule @unset {
^bb0(%p: !t, %g: !t):
  // expected-error @+1 {{"beta" has no default}}
  %a = update.number "beta"
  update.return %p
}

// -----

!t = tensor<?x?xf32>
update.rule @infinite {
^bb0(%p: !t, %g: !t):
  // expected-error @+1 {{the default of "beta" is not finite}}
  %a = update.number "beta" default 0x7F800000
  update.return %p
}

// -----

!t = tensor<?x?xf32>
update.rule @third {
^bb0(%p: !t, %g: !t):
  // expected-error @+1 {{dimension is 2, expected 0 or 1}}
  %a = update.extent %p, 2
  update.return %p
}

// -----

!t = tensor<?x?xf32>
update.rule @nothing {
^bb0(%p: !t, %g: !t):
  // expected-error @+1 {{reads 1 tensors and makes 0 results, expected at least one of each}}
  update.sum (%w = %p) {
    update.yield
  }
  update.return %p
}

// -----

!t = tensor<?x?xf32>
update.rule @effects {
^bb0(%p: !t, %g: !t):
  %n = update.map (%w = %p) {
    // expected-error @+1 {{may not stand in update.map: it is none of arith or math that computes one number from numbers}}
    %b = update.number "beta" default 0.5
    update.yield %b
  }
  update.return %n
}

// -----

!t = tensor<?x?xf32>
update.rule @product {
^bb0(%p: !t, %g: !t):
  // expected-error @+1 {{multiplies the gradient, which only maps and sums scale; multiply a map's result}}
  %x = update.product %g, %p transposed
  update.return %p
}

// -----

update.format @known codes i8 blocks [32, 32] scale (%l) {
  update.yield %l
} encode (%v, %s) {
  update.yield %v
} decode (%c, %s) {
  update.yield %c
}

!t = tensor<?x?xf32>
// expected-error @+1 {{gives a format to "x", which is none of its states}}
update.rule @stranger states ["a", "b"] formats {x = @known} {
^bb0(%p: !t, %g: !t, %a: !t, %b: !t):
  %x, %y, %z = update.map (%w = %p) {
    update.yield %w, %w, %w
  }
  update.return %x, %y, %z
}

// -----

!t = tensor<?x?xf32>
// expected-error @+1 {{keeps "a" as @nobody, and there is no update.format of that name}}
update.rule @nameless states ["a", "b"] formats {a = @nobody} {
^bb0(%p: !t, %g: !t, %a: !t, %b: !t):
  %x, %y, %z = update.map (%w = %p) {
    update.yield %w, %w, %w
  }
  update.return %x, %y, %z
}

// -----

update.format @small codes i8 blocks [16, 16] scale (%l) {
  update.yield %l
} encode (%v, %s) {
  update.yield %v
} decode (%c, %s) {
  update.yield %c
}
update.format @large codes i8 blocks [32, 32] scale (%l) {
  update.yield %l
} encode (%v, %s) {
  update.yield %v
} decode (%c, %s) {
  update.yield %c
}

!t = tensor<?x?xf32>
// expected-error @+1 {{has formats of different blocks, [16, 16] and [32, 32]}}
update.rule @several states ["a", "b"] formats {a = @small, b = @large} {
^bb0(%p: !t, %g: !t, %a: !t, %b: !t):
  %x, %y, %z = update.map (%w = %p) {
    update.yield %w, %w, %w
  }
  update.return %x, %y, %z
}

// -----

update.format @flat codes i8 blocks [1, 64] scale (%l) {
  update.yield %l
} encode (%v, %s) {
  update.yield %v
} decode (%c, %s) {
  update.yield %c
}

!t = tensor<?x?xf32>
// expected-error @+1 {{is wide, and blocks of @flat have 1 rows, expected a multiple of 16}}
update.rule @turned states ["a", "b"] formats {a = @flat} wide {
^bb0(%p: !t, %g: !t, %a: !t, %b: !t):
  %x, %y, %z = update.map (%w = %p) {
    update.yield %w, %w, %w
  }
  update.return %x, %y, %z
}

// -----

update.format @known codes i8 blocks [32, 32] scale (%l) {
  update.yield %l
} encode (%v, %s) {
  update.yield %v
} decode (%c, %s) {
  update.yield %c
}

!t = tensor<?x?xf32>
update.rule @multiplied states ["a", "b"] formats {a = @known} {
^bb0(%p: !t, %g: !t, %a: !t, %b: !t):
  // expected-error @+1 {{multiplies a state that is kept in a format, which only maps and sums read; multiply a map's result}}
  %m = update.product %a, %a transposed
  %x, %y, %z = update.map (%w = %p) {
    update.yield %w, %w, %w
  }
  update.return %x, %y, %z
}

// -----

// expected-error @+1 {{codes are 'i16', expected i8 or ui8}}
update.format @wide codes i16 blocks [32, 32] scale (%l) {
  update.yield %l
} encode (%v, %s) {
  update.yield %v
} decode (%c, %s) {
  update.yield %c
}

// -----

// expected-error @+1 {{blocks are [32, 24], expected rows, and a multiple of 16 columns}}
update.format @uneven codes i8 blocks [32, 24] scale (%l) {
  update.yield %l
} encode (%v, %s) {
  update.yield %v
} decode (%c, %s) {
  update.yield %c
}

// -----

// expected-error @+1 {{blocks are [32], expected rows, and a multiple of 16 columns}}
update.format @line codes i8 blocks [32] scale (%l) {
  update.yield %l
} encode (%v, %s) {
  update.yield %v
} decode (%c, %s) {
  update.yield %c
}

// -----

// expected-error @+1 {{encode takes 1 numbers, expected 2, of which it yields one}}
update.format @few codes i8 blocks [32, 32] scale (%l) {
  update.yield %l
} encode (%v) {
  update.yield %v
} decode (%c, %s) {
  update.yield %c
}

// -----

update.format @read codes i8 blocks [32, 32] scale (%l) {
  // expected-error @+1 {{may not stand in update.format: it is none of arith or math that computes one number from numbers}}
  %n = update.number "beta" default 0.5
  update.yield %n
} encode (%v, %s) {
  update.yield %v
} decode (%c, %s) {
  update.yield %c
}

// -----

!t = tensor<?x?xf32>
!r = tensor<?x1xf32>
update.format @known codes i8 blocks [32, 32] scale (%l) {
  update.yield %l
} encode (%v, %s) {
  update.yield %v
} decode (%c, %s) {
  update.yield %c
}

// expected-error @+1 {{gives a format to "a", which is 'tensor<?x1xf32>'}}
update.rule @column states ["a"] formats {a = @known} {
^bb0(%p: !t, %g: !t, %a: !r):
  %x = update.map (%w = %p) {
    update.yield %w
  }
  %y = update.map (%b = %a : !r) {
    update.yield %b
  }
  update.return %x, %y : !t, !r
}

// -----

!t = tensor<?x?xf32>
// expected-error @+1 {{takes 3 arguments, expected the parameter, its gradient and 1 states, of tensor<?x?xf32>, or for states tensor<?x1xf32> or tensor<1x?xf32>}}
update.rule @number states ["a"] {
^bb0(%p: !t, %g: !t, %a: tensor<1x1xf32>):
  %x, %y = update.map (%w = %p) {
    update.yield %w, %w
  }
  update.return %x, %y
}

// -----

!t = tensor<?x?xf32>
!r = tensor<?x1xf32>
update.rule @another states ["a"] {
^bb0(%p: !t, %g: !t, %a: !r):
  %x, %y = update.map (%w = %p) {
    update.yield %w, %w
  }
  // expected-error @+1 {{value 1 is 'tensor<?x?xf32>', expected 'tensor<?x1xf32>'}}
  update.return %x, %y
}

// -----

!t = tensor<?x?xf32>
update.rule @deep {
^bb0(%p: !t, %g: !t):
  // expected-error @+1 {{dimension is 2, expected 0 or 1}}
  %x = update.sum (%w = %p) dimension 2 {
    update.yield %w
  }
  update.return %p
}

// -----

!t = tensor<?x?xf32>
!r = tensor<?x1xf32>
update.rule @narrow states ["a"] {
^bb0(%p: !t, %g: !t, %a: !r):
  // expected-error @+1 {{adds up along a dimension, expected inputs of 'tensor<?x?xf32>'}}
  %x = update.sum (%w = %p, %b = %a : !r) dimension 1 {
    update.yield %b
  }
  update.return %p, %a : !t, !r
}

// -----

!t = tensor<?x?xf32>
update.rule @nameless {
^bb0(%p: !t, %g: !t):
  // expected-error @+1 {{has an empty name}}
  %w = update.weights "" : tensor<2xf32>
  %n = update.map (%x = %p) {
    update.yield %x
  }
  update.return %n
}

// -----

// expected-error @+3 {{must be a vector or matrix of f32 of fixed extents}}
update.rule @extents {
^bb0(%p: tensor<?x?xf32>, %g: tensor<?x?xf32>):
  %w = update.weights "w" : tensor<?xf32>
  %n = update.map (%x = %p) {
    update.yield %x
  }
  update.return %n
}

// -----

!t = tensor<?x?xf32>
update.rule @few {
^bb0(%p: !t, %g: !t):
  // expected-error @+1 {{"w" has 1 defaults, expected 2}}
  %w = update.weights "w" default [1.0] : tensor<2xf32>
  %n = update.map (%x = %p) {
    update.yield %x
  }
  update.return %n
}

// -----

!t = tensor<?x?xf32>
update.rule @endless {
^bb0(%p: !t, %g: !t):
  // expected-error @+1 {{a default of "w" is not finite}}
  %w = update.weights "w" default [1.0e300] : tensor<1xf32>
  %n = update.map (%x = %p) {
    update.yield %x
  }
  update.return %n
}

// -----

!t = tensor<?x?xf32>
update.rule @one {
^bb0(%p: !t, %g: !t):
  %w = update.weights "w" : tensor<1xf32>
  %n = update.map (%x = %p) {
    update.yield %x
  }
  update.return %n
}
update.rule @other {
^bb0(%p: !t, %g: !t):
  // expected-error @+1 {{"w" has another type or default above}}
  %w = update.weights "w" : tensor<2xf32>
  %n = update.map (%x = %p) {
    update.yield %x
  }
  update.return %n
}

// -----

!t = tensor<?x?xf32>
update.rule @beyond {
^bb0(%p: !t, %g: !t):
  %w = update.weights "w" : tensor<2xf32>
  // expected-error @+1 {{index [2] is none of 'tensor<2xf32>'}}
  %e = update.element %w[2] : tensor<2xf32>
  %n = update.map (%x = %p) {
    update.yield %x
  }
  update.return %n
}

// -----

!t = tensor<?x?xf32>
update.rule @vector {
^bb0(%p: !t, %g: !t):
  %w = update.weights "w" : tensor<2xf32>
  %n = update.map (%x = %p) {
    // expected-error @+1 {{expected weights of rows and columns, as tensor<32x39xf32>}}
    %h:2 = update.dense %w, %w (%x, %x) : tensor<2xf32>
    update.yield %x
  }
  update.return %n
}

// -----

!t = tensor<?x?xf32>
update.rule @inputs {
^bb0(%p: !t, %g: !t):
  %w = update.weights "w" : tensor<2x3xf32>
  %b = update.weights "b" : tensor<2xf32>
  %n = update.map (%x = %p) {
    // expected-error @+1 {{makes 2 numbers of 1, and its weights are 'tensor<2x3xf32>'}}
    %h:2 = update.dense %w, %b (%x) : tensor<2x3xf32>
    update.yield %x
  }
  update.return %n
}

// -----

!t = tensor<?x?xf32>
update.rule @summed {
^bb0(%p: !t, %g: !t):
  %w = update.weights "w" : tensor<1x1xf32>
  %b = update.weights "b" : tensor<1xf32>
  %n = update.sum (%x = %p) {
    // expected-error @+1 {{expects parent op 'update.map'}}
    %h = update.dense %w, %b (%x) : tensor<1x1xf32>
    update.yield %h
  }
  update.return %p
}

// -----

!t = tensor<?x?xf32>
update.format @bytes codes i8 blocks [16, 16] scale (%largest) {
  update.yield %largest
} encode (%value, %scale) {
  update.yield %value
} decode (%code, %scale) {
  update.yield %code
}
update.rule @kept states ["m"] formats {m = @bytes} {
^bb0(%p: !t, %g: !t, %m: !t):
  %w = update.weights "w" : tensor<1x1xf32>
  %b = update.weights "b" : tensor<1xf32>
  // expected-error @+1 {{has an update.dense and makes a state that is kept in a format; let another map make the state}}
  %n, %o = update.map (%x = %p, %y = %m) {
    %h = update.dense %w, %b (%x) : tensor<1x1xf32>
    update.yield %h, %y
  }
  update.return %n, %o
}
