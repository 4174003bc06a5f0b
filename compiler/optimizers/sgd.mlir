// Stochastic gradient descent with momentum (Sutskever, Martens, Dahl and
// Hinton, "On the importance of initialization and momentum in deep learning",
// 2013), in the form where the momentum holds gradients and not changes. The
// decay is added to the gradient. `--set momentum=0` is plain descent.

update.rule @sgd states ["momentum"] {
^bb0(%parameter: tensor<?x?xf32>, %gradient: tensor<?x?xf32>,
     %momentum: tensor<?x?xf32>):
  %rate = update.number "learning_rate"
  %keep = update.number "momentum" default 0.9
  %decay = update.number "weight_decay" default 0.0
  %p, %m = update.map (%w = %parameter, %g = %gradient, %old = %momentum) {
    %decayed = arith.mulf %w, %decay : f32
    %whole = arith.addf %g, %decayed : f32
    %kept = arith.mulf %old, %keep : f32
    %new = arith.addf %kept, %whole : f32
    %change = arith.mulf %new, %rate : f32
    %next = arith.subf %w, %change : f32
    update.yield %next, %new
  }
  update.return %p, %m
}

update.group @sgd rank 1 numbers {weight_decay = 0.0 : f32}
update.group @sgd
