//===- slicing.h - parts of texts and lists -------------------------------===//

#ifndef BATON_RUNTIME_JINJA_SLICING_H
#define BATON_RUNTIME_JINJA_SLICING_H

#include "runtime/jinja/rendering.h"

namespace baton::jinja {

/// container[start:stop:step]; Missing or None is what is left out.
Value slice(Rendering &rendering, const Value &container, const Value &start,
            const Value &stop, const Value &step);

} // namespace baton::jinja

#endif // BATON_RUNTIME_JINJA_SLICING_H
