// A layer of a Llama by three task bodies that call the task library: the norm in
// front of attention with the three products behind it, attention, and all of the
// feed-forward layer. What is between two calls is a temporary.
!rows = memref<?x?xf32, strided<[?, 1]>>
!vector = memref<?xf32, strided<[1]>>
!tile = memref<?x?x?xf32, strided<[?, ?, 1]>>
!temporary = memref<?x?xf32>
!part = memref<?x?xf32, strided<[?, 1], offset: ?>>
module attributes {transform.with_named_sequence} {
  event.body @qkv grid ()[rows, past, outputs] -> (rows ceildiv 16)
      accesses [#event.access<read @x, (t)[rows, past, outputs] -> (t * 16, 0)
                    to (t)[rows, past, outputs] -> (t * 16 + 16, 65536)>,
                #event.access<read @weight, (t)[rows, past, outputs] -> (0)
                    to (t)[rows, past, outputs] -> (65536)>,
                #event.access<read @wq, (t)[rows, past, outputs] -> (0, 0)
                    to (t)[rows, past, outputs] -> (65536, 65536)>,
                #event.access<read @wk, (t)[rows, past, outputs] -> (0, 0)
                    to (t)[rows, past, outputs] -> (65536, 65536)>,
                #event.access<read @wv, (t)[rows, past, outputs] -> (0, 0)
                    to (t)[rows, past, outputs] -> (65536, 65536)>,
                #event.access<write @q, (t)[rows, past, outputs] -> (t * 16, 0, 0)
                    to (t)[rows, past, outputs] -> (t * 16 + 16, 65536, 65536)>,
                #event.access<write @k, (t)[rows, past, outputs] -> (t * 16, 0, 0)
                    to (t)[rows, past, outputs] -> (t * 16 + 16, 65536, 65536)>,
                #event.access<write @v, (t)[rows, past, outputs] -> (t * 16, 0, 0)
                    to (t)[rows, past, outputs] -> (t * 16 + 16, 65536, 65536)>] {
  ^bb0(%x: !rows, %weight: !vector, %wq: !rows, %wk: !rows, %wv: !rows, %q: !tile, %k: !tile, %v: !tile):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %tall = memref.dim %x, %c0 : !rows
    %wide = memref.dim %x, %c1 : !rows
    %normal = memref.alloca(%tall, %wide) : !temporary
    event.library_call "rms_norm" ins(%x, %weight : !rows, !vector) outs(%normal : !temporary) {epsilon = 0.00999999977 : f32}
    %q_heads = memref.dim %q, %c1 : !tile
    %q_width = memref.dim %q, %c2 : !tile
    scf.for %head = %c0 to %q_heads step %c1 {
      %row = arith.muli %head, %q_width : index
      %w = memref.subview %wq[%row, 0] [%q_width, %wide] [1, 1] : !rows to !part
      %made = memref.subview %q[0, %head, 0] [%tall, 1, %q_width] [1, 1, 1] : !tile to !part
      event.library_call "linear" ins(%normal, %w : !temporary, !part) outs(%made : !part)
    }
    %k_heads = memref.dim %k, %c1 : !tile
    %k_width = memref.dim %k, %c2 : !tile
    scf.for %head = %c0 to %k_heads step %c1 {
      %row = arith.muli %head, %k_width : index
      %w = memref.subview %wk[%row, 0] [%k_width, %wide] [1, 1] : !rows to !part
      %made = memref.subview %k[0, %head, 0] [%tall, 1, %k_width] [1, 1, 1] : !tile to !part
      event.library_call "linear" ins(%normal, %w : !temporary, !part) outs(%made : !part)
    }
    %v_heads = memref.dim %v, %c1 : !tile
    %v_width = memref.dim %v, %c2 : !tile
    scf.for %head = %c0 to %v_heads step %c1 {
      %row = arith.muli %head, %v_width : index
      %w = memref.subview %wv[%row, 0] [%v_width, %wide] [1, 1] : !rows to !part
      %made = memref.subview %v[0, %head, 0] [%tall, 1, %v_width] [1, 1, 1] : !tile to !part
      event.library_call "linear" ins(%normal, %w : !temporary, !part) outs(%made : !part)
    }
  }
  event.body @own_attention grid ()[rows, past, outputs] -> (rows ceildiv 16)
      accesses [#event.access<read @q, (t)[rows, past, outputs] -> (t * 16, 0, 0)
                    to (t)[rows, past, outputs] -> (t * 16 + 16, 65536, 65536)>,
                #event.access<read @k, (t)[rows, past, outputs] -> (0, 0, 0)
                    to (t)[rows, past, outputs] -> (past + t * 16 + 16, 65536, 65536)>,
                #event.access<read @v, (t)[rows, past, outputs] -> (0, 0, 0)
                    to (t)[rows, past, outputs] -> (past + t * 16 + 16, 65536, 65536)>,
                #event.access<write @y, (t)[rows, past, outputs] -> (t * 16, 0, 0)
                    to (t)[rows, past, outputs] -> (t * 16 + 16, 65536, 65536)>] {
  ^bb0(%q: !tile, %k: !tile, %v: !tile, %y: !tile):
    event.library_call "attention" ins(%q, %k, %v : !tile, !tile, !tile) outs(%y : !tile) {scale = 0.25 : f32}
  }
  event.body @feed_forward grid ()[rows, past, outputs] -> (rows ceildiv 16)
      accesses [#event.access<read @x, (t)[rows, past, outputs] -> (t * 16, 0)
                    to (t)[rows, past, outputs] -> (t * 16 + 16, 65536)>,
                #event.access<read @weight, (t)[rows, past, outputs] -> (0)
                    to (t)[rows, past, outputs] -> (65536)>,
                #event.access<read @gate, (t)[rows, past, outputs] -> (0, 0)
                    to (t)[rows, past, outputs] -> (65536, 65536)>,
                #event.access<read @up, (t)[rows, past, outputs] -> (0, 0)
                    to (t)[rows, past, outputs] -> (65536, 65536)>,
                #event.access<read @down, (t)[rows, past, outputs] -> (0, 0)
                    to (t)[rows, past, outputs] -> (65536, 65536)>,
                #event.access<write @y, (t)[rows, past, outputs] -> (t * 16, 0)
                    to (t)[rows, past, outputs] -> (t * 16 + 16, 65536)>] {
  ^bb0(%x: !rows, %weight: !vector, %gate: !rows, %up: !rows, %down: !rows, %y: !rows):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %tall = memref.dim %x, %c0 : !rows
    %wide = memref.dim %x, %c1 : !rows
    %inner = memref.dim %gate, %c0 : !rows
    %normal = memref.alloca(%tall, %wide) : !temporary
    %gates = memref.alloca(%tall, %inner) : !temporary
    %ups = memref.alloca(%tall, %inner) : !temporary
    event.library_call "rms_norm" ins(%x, %weight : !rows, !vector) outs(%normal : !temporary) {epsilon = 0.00999999977 : f32}
    event.library_call "linear" ins(%normal, %gate : !temporary, !rows) outs(%gates : !temporary)
    event.library_call "linear" ins(%normal, %up : !temporary, !rows) outs(%ups : !temporary)
    linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                    iterator_types = ["parallel", "parallel"]}
        ins(%ups : !temporary) outs(%gates : !temporary) {
    ^bb0(%u: f32, %g: f32):
      %one = arith.constant 1.0 : f32
      %minus = arith.negf %g : f32
      %power = math.exp %minus : f32
      %below = arith.addf %power, %one : f32
      %silu = arith.divf %g, %below : f32
      %product = arith.mulf %silu, %u : f32
      linalg.yield %product : f32
    }
    event.library_call "linear" ins(%gates, %down : !temporary, !rows) outs(%y : !rows)
  }
  transform.named_sequence @model(%program: !transform.any_op {transform.readonly}) {
    %before = transform.baton.match ["model.rms_norm", "model.linear", "model.reshape"] named "layers.{input_layernorm,self_attn.q_proj,self_attn.k_proj,self_attn.v_proj,self_attn.q,self_attn.k,self_attn.v}" in %program
    transform.baton.replace %before with @qkv
    %attention = transform.baton.match ["model.transpose", "model.broadcast", "model.matmul", "model.scale", "model.mask", "model.softmax"] named "layers.self_attn.{q_heads,k_heads,k_repeat,v_heads,v_repeat,scores,scale,mask,softmax,weighted_values,attention}" in %program
    transform.baton.replace %attention with @own_attention
    %behind = transform.baton.match named "layers.{post_attention_layernorm,mlp.gate_proj,mlp.up_proj,mlp.act_fn,mlp.gate_up,mlp.down_proj}" in %program
    transform.baton.replace %behind with @feed_forward
    transform.yield
  }
}
