//===- Rewrites.cpp - one fusion at a time --------------------------------===//

#include "passes/fusion/Rewrites.h"

void baton::fusion::Outcome::remark() const { op->emitRemark() << why; }
