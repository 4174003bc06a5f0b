//===- Residual.cpp - how the halves of a block join the residual ---------===//

#include "models/Residual.h"

using namespace mlir;
using namespace baton;
using namespace baton::models;

Value Residual::begin(Value x) {
  return form ? builder.repeatAsStreams("streams", x, form->streams) : x;
}

Value Residual::sublayer(StringRef sum, StringRef module, Value x,
                         function_ref<Value(Value)> make) {
  if (!form)
    return builder.add(sum, x, make(x));
  Value maps = builder.hyperMaps(module, x, *form, form->mixing);
  Value y = make(builder.hyperPre(module, x, maps));
  return builder.hyperPost(module, x, y, maps);
}

Value Residual::end(Value x) {
  if (!form)
    return builder.lastRows("last_rows", x);
  x = builder.lastStreams("last_rows", x);
  Value maps = builder.hyperMaps("hc_head", x, *form, model::Mixing::none);
  return builder.hyperPre("hc_head", x, maps);
}
