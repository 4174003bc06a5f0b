//===- Dialects.cpp - every dialect that may stand in a file --------------===//

#include "compiler/Dialects.h"

#include "compiler/schedule/ScheduleOps.h"
#include "dialects/Dist/Dist.h"
#include "dialects/Event/Event.h"
#include "dialects/Model/Model.h"
#include "dialects/Update/Update.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

void baton::compiler::registerDialects(mlir::DialectRegistry &registry) {
  registry.insert<dist::DistDialect, event::EventDialect, model::ModelDialect,
                  update::UpdateDialect, mlir::affine::AffineDialect,
                  mlir::arith::ArithDialect, mlir::index::IndexDialect,
                  mlir::linalg::LinalgDialect, mlir::math::MathDialect,
                  mlir::memref::MemRefDialect, mlir::scf::SCFDialect,
                  mlir::vector::VectorDialect>();
  schedule::registerScheduleOps(registry);
}
