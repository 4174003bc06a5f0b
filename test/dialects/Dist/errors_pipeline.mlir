// Each check of the pipeline ops' verifiers, in the order of the constraints in
// DistOps.td.
//
// RUN: baton-opt %s --split-input-file -verify-diagnostics

dist.mesh [pipe = 1]
// expected-error @+1 {{'dist.schedule' op stands outside of a training program}}
dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1] tables ["F0 B0 W0"]

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  // expected-error @+1 {{is the program's second schedule}}
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  dist.stage [0] offsets [0] {
    dist.phase forward
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase input
    %dx = dist.receive from next payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.phase input
    dist.send %x to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %x : !l
  }
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [data = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  // expected-error @+1 {{the mesh has no axis "pipe"}}
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  dist.stage [0] offsets [0] {
    dist.phase forward
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase input
    %dx = dist.receive from next payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.phase input
    dist.send %x to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %x : !l
  }
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  // expected-error @+1 {{has 0 microbatches and 1 chunks, expected 1 to 1048576}}
  dist.schedule "1f1b" over "pipe" microbatches 0 in_flight [1, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  dist.stage [0] offsets [0] {
    dist.phase forward
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase input
    %dx = dist.receive from next payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.phase input
    dist.send %x to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %x : !l
  }
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  // expected-error @+1 {{has 1 microbatches and 0 chunks, expected 1 to 1048576}}
  dist.schedule "1f1b" over "pipe" microbatches 1 chunks 0 in_flight [1, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  dist.stage [0] offsets [0] {
    dist.phase forward
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase input
    %dx = dist.receive from next payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.phase input
    dist.send %x to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %x : !l
  }
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  // expected-error @+1 {{has 1 tables and 2 numbers in flight for 2 stages}}
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 B0 W0"]
  dist.stage [0] offsets [0] {
    dist.phase forward
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase input
    %dx = dist.receive from next payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.phase input
    dist.send %x to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %x : !l
  }
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  // expected-error @+1 {{has 2 tables and 1 numbers in flight for 2 stages}}
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1] tables ["F0 B0 W0", "F0 B0 W0"]
  dist.stage [0] offsets [0] {
    dist.phase forward
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase input
    %dx = dist.receive from next payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.phase input
    dist.send %x to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %x : !l
  }
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  // expected-error @+1 {{'X0' is no step, such as F0, B12 or W3.1}}
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 B0 X0", "F0 B0 W0"]
  dist.stage [0] offsets [0] {
    dist.phase forward
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase input
    %dx = dist.receive from next payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.phase input
    dist.send %x to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %x : !l
  }
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  // expected-error @+1 {{stage 0: W0 is missing}}
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 B0", "F0 B0 W0"]
  dist.stage [0] offsets [0] {
    dist.phase forward
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase input
    %dx = dist.receive from next payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.phase input
    dist.send %x to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %x : !l
  }
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  // expected-error @+1 {{stage 0: F0 occurs twice}}
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 F0 B0 W0", "F0 B0 W0"]
  dist.stage [0] offsets [0] {
    dist.phase forward
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase input
    %dx = dist.receive from next payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.phase input
    dist.send %x to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %x : !l
  }
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  // expected-error @+1 {{stage 0: W0 comes before B0}}
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 W0 B0", "F0 B0 W0"]
  dist.stage [0] offsets [0] {
    dist.phase forward
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase input
    %dx = dist.receive from next payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.phase input
    dist.send %x to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %x : !l
  }
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  // expected-error @+1 {{stages wait for one another: stage 0 before B0, stage 1 before F1}}
  dist.schedule "1f1b" over "pipe" microbatches 2 in_flight [2, 1] tables ["F0 F1 B0 W0 B1 W1", "F1 B1 W1 F0 B0 W0"]
  dist.stage [0] offsets [0] {
    dist.phase forward
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase input
    %dx = dist.receive from next payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.phase input
    dist.send %x to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %x : !l
  }
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  // expected-error @+1 {{stage 0: 1 are in flight, not 2}}
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [2, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  dist.stage [0] offsets [0] {
    dist.phase forward
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase input
    %dx = dist.receive from next payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.phase input
    dist.send %x to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %x : !l
  }
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  // expected-error @+1 {{stage 0: with F0 there are 1 in flight, more than 0}}
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [0, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  dist.stage [0] offsets [0] {
    dist.phase forward
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase input
    %dx = dist.receive from next payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.phase input
    dist.send %x to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %x : !l
  }
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  // expected-error @+1 {{position 0 has no stage}}
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.phase input
    dist.send %x to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %x : !l
  }
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  dist.stage [0] offsets [0] {
    dist.phase forward
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase input
    %dx = dist.receive from next payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end
  }
  // expected-error @+1 {{position 0 has two stages}}
  dist.stage [0] offsets [0] {
    dist.phase forward
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase input
    %dx = dist.receive from next payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.phase input
    dist.send %x to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %x : !l
  }
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  // expected-error @+1 {{position 0 sends 1 values to position 1, which receives 0}}
  dist.stage [0] offsets [0] {
    dist.phase forward
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase input
    %dx = dist.receive from next payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    dist.phase input
    dist.phase weight
    dist.stage_end %weights : !l
  }
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  dist.stage [0] offsets [0] {
    dist.phase forward
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase input
    // expected-error @+1 {{position 0 receives '!model.tensor<rows x 8 x f32>', but position 1 sends '!model.tensor<rows x f32>'}}
    %dx = dist.receive from next payload "4 * rows * 8" : !model.tensor<rows x 8 x f32>
    dist.phase weight
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.phase input
    dist.send %x to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %x : !l
  }
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2, data = 2] batch [data]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  dist.stage [0] offsets [0] {
    dist.phase forward
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase input
    // expected-error @+1 {{position 0 receives a value placed #dist.placement<[shard(data)]>, but position 1 sends one placed #dist.placement<[replicate]>}}
    %dx = dist.receive from next payload "4 * rows/2" {dist.placements = [#dist.placement<[shard(data)]>]} : !l
    dist.phase weight
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.phase input
    dist.send %x to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %x : !l
  }
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  // expected-error @+1 {{position 0 has nothing before it}}
  dist.stage [0] offsets [0] {
    dist.phase forward
    %y = dist.receive from previous payload "4 * rows" : !l
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase input
    %dx = dist.receive from next payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.phase input
    dist.send %x to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %x : !l
  }
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  dist.stage [0] offsets [0] {
    dist.phase forward
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase input
    %dx = dist.receive from next payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end
  }
  // expected-error @+1 {{position 1 has nothing after it}}
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.send %x to next payload "4 * rows" : !l
    dist.phase input
    dist.send %x to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %x : !l
  }
  model.return %loss : !l
}

// -----

// expected-error @+1 {{'dist.stage' op stands outside of a program with a schedule before it}}
dist.stage [0] offsets [0] {
  dist.phase forward
  dist.phase input
  dist.phase weight
  dist.stage_end
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  // expected-error @+1 {{stands outside of a program with a schedule before it}}
  dist.stage [0] offsets [0] {
    dist.phase forward
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase input
    %dx = dist.receive from next payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end
  }
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.phase input
    dist.send %x to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %x : !l
  }
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  dist.stage [0] offsets [0] {
    dist.phase forward
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase input
    %dx = dist.receive from next payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end
  }
  // expected-error @+1 {{has no position}}
  dist.stage [] offsets [] {
    dist.phase forward
    dist.phase input
    dist.phase weight
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.phase input
    dist.send %x to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %x : !l
  }
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  dist.stage [0] offsets [0] {
    dist.phase forward
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase input
    %dx = dist.receive from next payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end
  }
  // expected-error @+1 {{positions do not ascend from 0}}
  dist.stage [-1] offsets [0] {
    dist.phase forward
    dist.phase input
    dist.phase weight
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.phase input
    dist.send %x to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %x : !l
  }
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  dist.stage [0] offsets [0] {
    dist.phase forward
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase input
    %dx = dist.receive from next payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end
  }
  // expected-error @+1 {{has position 3 of 2}}
  dist.stage [3, 2] offsets [0, 0] {
    dist.phase forward
    dist.phase input
    dist.phase weight
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.phase input
    dist.send %x to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %x : !l
  }
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  // expected-error @+1 {{has position 2 of 2}}
  dist.stage [0, 2] offsets [0, 0] {
    dist.phase forward
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase input
    %dx = dist.receive from next payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.phase input
    dist.send %x to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %x : !l
  }
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  // expected-error @+1 {{expected an offset for each position, 0 at first}}
  dist.stage [0] offsets [0, 1] {
    dist.phase forward
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase input
    %dx = dist.receive from next payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.phase input
    dist.send %x to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %x : !l
  }
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  // expected-error @+1 {{expected an offset for each position, 0 at first}}
  dist.stage [0] offsets [1] {
    dist.phase forward
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase input
    %dx = dist.receive from next payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.phase input
    dist.send %x to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %x : !l
  }
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  // expected-error @+1 {{has a negative offset}}
  dist.stage [0, 1] offsets [0, -1] {
    dist.phase forward
    dist.phase input
    dist.phase weight
    dist.stage_end
  }
  model.return %weights : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  dist.stage [0] offsets [0] {
    // expected-error @+1 {{stands before its stage's first phase}}
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase input
    %dx = dist.receive from next payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.phase input
    dist.send %x to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %x : !l
  }
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  dist.stage [0] offsets [0] {
    dist.phase forward
    // expected-error @+1 {{is out of order: a stage has forward, input and weight}}
    dist.phase forward
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase input
    %dx = dist.receive from next payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.phase input
    dist.send %x to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %x : !l
  }
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  dist.stage [0] offsets [0] {
    dist.phase forward
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase input
    %dx = dist.receive from next payload "4 * rows" : !l
    dist.phase weight
    // expected-error @+1 {{is out of order: a stage has forward, input and weight}}
    dist.phase weight
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.phase input
    dist.send %x to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %x : !l
  }
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  // expected-error @+1 {{has 2 phases, expected 3}}
  dist.stage [0] offsets [0] {
    dist.phase forward
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase input
    %dx = dist.receive from next payload "4 * rows" : !l
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.phase input
    dist.send %x to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %x : !l
  }
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  dist.stage [0] offsets [0] {
    dist.phase forward
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase input
    %dx = dist.receive from next payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %w = model.parameter ["w"] : !model.tensor<4 x f32>
    // expected-error @+1 {{does not stand at its phase's begin}}
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.phase input
    dist.send %x to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %x : !l
  }
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  dist.stage [0] offsets [0] {
    dist.phase forward
    dist.send %weights to next payload "4 * rows" : !l
    // expected-error @+1 {{follows a 'dist.send' in its phase}}
    %w = model.parameter ["w"] : !model.tensor<4 x f32>
    dist.phase input
    %dx = dist.receive from next payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.phase input
    dist.send %x to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %x : !l
  }
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  dist.stage [0] offsets [0] {
    dist.phase forward
    // expected-error @+1 {{stands in the phase 'forward', expected 'input'}}
    %dx = dist.receive from next payload "4 * rows" : !l
    dist.phase input
    dist.phase weight
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    dist.phase input
    dist.send %weights to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %weights : !l
  }
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  dist.stage [0] offsets [0] {
    dist.phase forward
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase input
    %dx = dist.receive from next payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    dist.phase input
    // expected-error @+1 {{stands in the phase 'input', expected 'forward'}}
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.send %x to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %x : !l
  }
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  dist.stage [0] offsets [0] {
    dist.phase forward
    dist.phase input
    %dx = dist.receive from next payload "4 * rows" : !l
    // expected-error @+1 {{stands in the phase 'input', expected 'forward'}}
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.phase input
    dist.send %x to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %x : !l
  }
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  dist.stage [0] offsets [0] {
    dist.phase forward
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase input
    %dx = dist.receive from next payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.phase input
    dist.phase weight
    // expected-error @+1 {{stands in the phase 'weight', expected 'input'}}
    dist.send %x to previous payload "4 * rows" : !l
    dist.stage_end %x : !l
  }
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  dist.schedule "1f1b" over "pipe" microbatches 1 fused in_flight [1, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  dist.stage [0] offsets [0] {
    dist.phase forward
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase input
    %dx = dist.receive from next payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.phase input
    // expected-error @+1 {{stands in the phase 'input', expected 'weight'}}
    dist.send %x to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %x : !l
  }
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  %w = model.parameter ["w"] : !model.tensor<4 x f32>
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  dist.stage [0] offsets [0] {
    dist.phase forward
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase input
    %dx = dist.receive from next payload "4 * rows" : !l
    dist.phase weight
    // expected-error @+1 {{reads a value from around its stage that is no argument of the program}}
    model.gradient %w of %w : !model.tensor<4 x f32>, !model.tensor<4 x f32>
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.phase input
    dist.send %x to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %x : !l
  }
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  // expected-error @+1 {{has results and 2 positions}}
  %loss = dist.stage [0, 1] offsets [0, 0] -> !l {
    dist.phase forward
    dist.phase input
    dist.phase weight
    dist.stage_end %weights : !l
  }
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  dist.stage [0] offsets [0] {
    dist.phase forward
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase input
    %dx = dist.receive from next payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end
  }
  // expected-error @+1 {{ends with other values than its results}}
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.phase input
    dist.send %x to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end
  }
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  // expected-error @+1 {{takes no arguments and ends with dist.stage_end}}
  dist.stage [0] offsets [0] {
  ^bb0(%a: !l):
    dist.phase forward
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase input
    %dx = dist.receive from next payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.phase input
    dist.send %x to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %x : !l
  }
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  dist.stage [0] offsets [0] {
    dist.phase forward
    // expected-error @+1 {{exchanges '!model.tensor<rows x i32>', expected a floating-point tensor of rows}}
    dist.send %tokens to next payload "4 * rows" : !i
    dist.phase input
    %dx = dist.receive from next payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !i
    dist.phase input
    dist.send %weights to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %weights : !l
  }
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  dist.stage [0] offsets [0] {
    dist.phase forward
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase input
    // expected-error @+1 {{exchanges '!model.tensor<8 x f32>', expected a floating-point tensor of rows}}
    %dx = dist.receive from next payload "32" : !model.tensor<8 x f32>
    dist.phase weight
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.phase input
    %w = model.parameter ["w"] : !model.tensor<8 x f32>
    dist.send %w to previous payload "32" : !model.tensor<8 x f32>
    dist.phase weight
    dist.stage_end %x : !l
  }
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  dist.stage [0] offsets [0] {
    dist.phase forward
    // expected-error @+1 {{has payload '8 * rows', expected '4 * rows'}}
    dist.send %weights to next payload "8 * rows" : !l
    dist.phase input
    %dx = dist.receive from next payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.phase input
    dist.send %x to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %x : !l
  }
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  dist.stage [0] offsets [0] {
    dist.phase forward
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase input
    // expected-error @+1 {{has payload 'rows', expected '4 * rows'}}
    %dx = dist.receive from next payload "rows" : !l
    dist.phase weight
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.phase input
    dist.send %x to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %x : !l
  }
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  %w = model.parameter ["w"] : !model.tensor<4 x bf16>
  // expected-error @+1 {{stands outside of a program with a schedule before it}}
  dist.sum_gradients %w over [0, 1] payload "4 * 4" : !model.tensor<4 x bf16>
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  dist.stage [0] offsets [0] {
    dist.phase forward
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase input
    %dx = dist.receive from next payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.phase input
    dist.send %x to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %x : !l
  }
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  %w = model.parameter ["w"] : !model.tensor<4 x bf16>
  // expected-error @+1 {{stands before a stage}}
  dist.sum_gradients %w over [0, 1] payload "4 * 4" : !model.tensor<4 x bf16>
  dist.stage [0] offsets [0] {
    dist.phase forward
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase input
    %dx = dist.receive from next payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.phase input
    dist.send %x to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %x : !l
  }
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  dist.stage [0] offsets [0] {
    dist.phase forward
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase input
    %dx = dist.receive from next payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.phase input
    dist.send %x to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %x : !l
  }
  // expected-error @+1 {{is not of a parameter}}
  dist.sum_gradients %weights over [0, 1] payload "4 * rows" : !l
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  dist.stage [0] offsets [0] {
    dist.phase forward
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase input
    %dx = dist.receive from next payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.phase input
    dist.send %x to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %x : !l
  }
  %w = model.parameter ["w"] : !model.tensor<4 x bf16>
  // expected-error @+1 {{stages do not ascend from 0 to 1}}
  dist.sum_gradients %w over [1, 0] payload "4 * 4" : !model.tensor<4 x bf16>
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  dist.stage [0] offsets [0] {
    dist.phase forward
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase input
    %dx = dist.receive from next payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.phase input
    dist.send %x to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %x : !l
  }
  %w = model.parameter ["w"] : !model.tensor<4 x bf16>
  // expected-error @+1 {{stages do not ascend from 0 to 1}}
  dist.sum_gradients %w over [0, 2] payload "4 * 4" : !model.tensor<4 x bf16>
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  dist.stage [0] offsets [0] {
    dist.phase forward
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase input
    %dx = dist.receive from next payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.phase input
    dist.send %x to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %x : !l
  }
  %w = model.parameter ["w"] : !model.tensor<4 x bf16>
  // expected-error @+1 {{is over fewer than two stages}}
  dist.sum_gradients %w over [0] payload "4 * 4" : !model.tensor<4 x bf16>
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  dist.stage [0] offsets [0] {
    dist.phase forward
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase input
    %dx = dist.receive from next payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.phase input
    dist.send %x to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %x : !l
  }
  %w = model.parameter ["w"] : !model.tensor<4 x bf16>
  // expected-error @+1 {{has payload '2 * 4', expected '4 * 4'}}
  dist.sum_gradients %w over [0, 1] payload "2 * 4" : !model.tensor<4 x bf16>
  model.return %loss : !l
}

// -----

// The schedule looks at messages before they are verified.
!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  dist.stage [0] offsets [0] {
    dist.phase forward
    // expected-error @+1 {{exchanges 'f32', expected a floating-point tensor of rows}}
    %dx = dist.receive from next payload "4" : f32
    dist.send %dx to next payload "4" : f32
    dist.phase input
    dist.phase weight
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4" : f32
    dist.phase input
    dist.send %x to previous payload "4" : f32
    dist.phase weight
    dist.stage_end %weights : !l
  }
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  dist.schedule "1f1b" over "pipe" microbatches 1 in_flight [1, 1] tables ["F0 B0 W0", "F0 B0 W0"]
  dist.stage [0] offsets [0] {
    dist.phase forward
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase input
    // expected-error @+1 {{'dist.placements': expected 1 placements in brackets}}
    %dx = dist.receive from next payload "4 * rows" {dist.placements = []} : !l
    dist.phase weight
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.phase input
    dist.send %x to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %x : !l
  }
  model.return %loss : !l
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x 8 x f32>
dist.mesh [pipe = 2]
// expected-error @+1 {{'dist.position': expected an axis of the mesh and a place on it, of a program that decodes}}
model.program @p max_seq 8 attributes {dist.position = ["pipe", 2]} {
^bb0(%tokens: !i):
  %x = dist.receive from previous payload "4 * rows * 8" : !l
  %y = model.last_rows %x : (!l) -> !model.tensor<outputs x 8 x f32>
  model.return %y : !model.tensor<outputs x 8 x f32>
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x 8 x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 {
^bb0(%tokens: !i):
  // expected-error @+1 {{stands in a program without 'dist.position'}}
  %x = dist.receive from previous payload "4 * rows * 8" : !l
  %y = model.last_rows %x : (!l) -> !model.tensor<outputs x 8 x f32>
  model.return %y : !model.tensor<outputs x 8 x f32>
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x 8 x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 attributes {dist.position = ["pipe", 0]} {
^bb0(%tokens: !i):
  // expected-error @+1 {{receives from the next position, in a program that decodes}}
  %x = dist.receive from next payload "4 * rows * 8" : !l
  %y = model.last_rows %x : (!l) -> !model.tensor<outputs x 8 x f32>
  model.return %y : !model.tensor<outputs x 8 x f32>
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x 8 x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 attributes {dist.position = ["pipe", 1]} {
^bb0(%tokens: !i):
  %x = dist.receive from previous payload "4 * rows * 8" : !l
  %y = model.last_rows %x : (!l) -> !model.tensor<outputs x 8 x f32>
  // expected-error @+1 {{does not stand at its program's begin}}
  %z = dist.receive from previous payload "4 * rows * 8" : !l
  model.return %y : !model.tensor<outputs x 8 x f32>
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x 8 x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 attributes {dist.position = ["pipe", 1]} {
^bb0(%tokens: !i):
  %x = dist.receive from previous payload "4 * rows * 8" : !l
  // expected-error @+1 {{does not stand at its program's end}}
  dist.send %x to next payload "4 * rows * 8" : !l
  %y = model.last_rows %x : (!l) -> !model.tensor<outputs x 8 x f32>
  model.return %y : !model.tensor<outputs x 8 x f32>
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x 8 x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 attributes {dist.position = ["pipe", 1]} {
^bb0(%tokens: !i):
  %x = dist.receive from previous payload "4 * rows * 8" : !l
  %y = model.last_rows %x : (!l) -> !model.tensor<outputs x 8 x f32>
  // expected-error @+1 {{sends back, in a program that decodes}}
  dist.send %x to previous payload "4 * rows * 8" : !l
  model.return %y : !model.tensor<outputs x 8 x f32>
}

// -----

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x 8 x f32>
dist.mesh [pipe = 2]
model.program @p max_seq 8 attributes {dist.position = ["pipe", 1]} {
^bb0(%tokens: !i):
  %x = dist.receive from previous payload "4 * rows * 8" : !l
  // expected-error @+1 {{'dist.part_of': expected a layer after the first, of a stack in a stage, or in a program of a position}}
  %z = model.stack %x repeat 2 {dist.part_of = 0 : i64} : (!l) -> !l {
  ^bb0(%in: !l):
    model.yield %in : !l
  }
  %y = model.last_rows %z : (!l) -> !model.tensor<outputs x 8 x f32>
  model.return %y : !model.tensor<outputs x 8 x f32>
}
