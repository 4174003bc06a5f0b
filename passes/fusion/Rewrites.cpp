//===- Rewrites.cpp - one fusion at a time --------------------------------===//

#include "passes/fusion/Rewrites.h"

void baton::fusion::Outcome::remark() const {
  mlir::emitRemark(op->getLoc()) << why;
}
