//===- StoredTypes.h - parameters as files store them ---------------------===//

#ifndef BATON_MODELS_STOREDTYPES_H
#define BATON_MODELS_STOREDTYPES_H

#include "runtime/weights/checkpoint.h"

#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <optional>
#include <string>

namespace baton::models {

/// The type of a tensor by its Hugging Face name; nothing where there is none.
using TypeOfTensor =
    std::function<std::optional<DataType>(const std::string &name)>;

/// Gives matrices that linears and embeddings read the element types of the
/// tensors that they are made of, those of all layers. What is quantised and
/// has other readers becomes f32, and so do layers of different types of which
/// none is quantised. Gates and ups of experts that are stored in several
/// formats are separated.
void useStoredTypes(mlir::ModuleOp module, const TypeOfTensor &typeOf);

} // namespace baton::models

#endif // BATON_MODELS_STOREDTYPES_H
