//===- data_report.h - what a run's documents are -------------------------===//

#ifndef BATON_RUNTIME_DOCUMENTS_DATA_REPORT_H
#define BATON_RUNTIME_DOCUMENTS_DATA_REPORT_H

#include "runtime/documents/document_batches.h"

#include <nlohmann/json.hpp>

#include <string>

namespace baton {

/// Numbers of documents, tokens and targets, of each file and of all; lengths;
/// what was cut or left out; how full the sequences of the first epoch are.
/// Of pairs of answers each is a document, and "pairs" is how many there are.
nlohmann::ordered_json data_report(const DocumentSet &documents,
                                   const DocumentBatches &batches);

/// The same in a few lines.
std::string data_report_text(const nlohmann::ordered_json &report);

} // namespace baton

#endif // BATON_RUNTIME_DOCUMENTS_DATA_REPORT_H
