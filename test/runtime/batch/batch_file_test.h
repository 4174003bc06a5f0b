//===- batch_file_test.h - files of requests, and what becomes of them ----===//

#ifndef BATON_TEST_RUNTIME_BATCH_BATCH_FILE_TEST_H
#define BATON_TEST_RUNTIME_BATCH_BATCH_FILE_TEST_H

#include "../execute/array_file.h"
#include "paged_model.h"
#include "runtime/batch/batch_file.h"

#include <gtest/gtest.h>

#include <sstream>

namespace baton::test {

class BatchFileTest : public ::testing::Test {
protected:
  BatchFileTest() {
    format.shape = {64, 16, 16, 200, 208, 3, 256};
    format.max_new_tokens = 5;
    format.stop_tokens = {2};
    format.tokenizer = Tokenizer::of_bytes();
    format.bytes = true;
  }

  std::string in() const { return (folder / "in.jsonl").string(); }
  std::string out() const { return (folder / "out.jsonl").string(); }
  void write(const std::string &text) { write_file(in(), text); }

  /// The only line's requests.
  std::vector<BatchRequest> read_all(const std::string &line) {
    write(line);
    RequestFile file(in());
    std::string error;
    auto requests = file.read(0, format, error);
    EXPECT_EQ(error, "");
    return requests;
  }
  BatchRequest read(const std::string &line) {
    auto requests = read_all(line);
    EXPECT_EQ(requests.size(), 1u);
    return requests.empty() ? BatchRequest() : requests.front();
  }
  /// What is wrong with the line.
  std::string fault(const std::string &line) {
    write(line);
    RequestFile file(in());
    std::string error;
    EXPECT_TRUE(file.read(0, format, error).empty()) << line;
    nlohmann::json json = nlohmann::json::parse(error);
    std::string message = json["error"]["message"];
    std::string place = in() + ":1: ";
    EXPECT_EQ(message.rfind(place, 0), 0u) << message;
    return message.substr(std::min(message.size(), place.size()));
  }

  /// Runs what has no result yet on the paged model, at most `most` of them.
  /// Returns how many ran.
  size_t run(size_t most = 1000) {
    RequestFile requests(in());
    ResultFile results(out(), requests);
    PagedModel model(format.shape);
    std::vector<BatchResult> finished;
    BatchDriver driver(format.shape, model.inputs(),
                       {.tokenizer = format.tokenizer},
                       {.on_result = [&](BatchResult &&result) {
                         finished.push_back(std::move(result));
                       }});
    size_t ran = 0;
    for (size_t i = 0; i < requests.size() && ran < most; ++i) {
      if (results.has(i))
        continue;
      ++ran;
      std::string error;
      auto read = requests.read(i, format, error);
      for (BatchRequest &request : read)
        EXPECT_TRUE(driver.submit(std::move(request)));
      if (read.empty())
        results.append(i, error);
    }
    model.run(driver);
    for (BatchResult &result : finished) {
      const size_t index = result.request.tag;
      if (auto line = requests.result(std::move(result), format))
        results.append(index, line->line);
    }
    if (results.size() == requests.size())
      results.publish();
    return ran;
  }

  std::vector<nlohmann::json> results() const {
    std::vector<nlohmann::json> lines;
    std::istringstream stream(read_file(out()));
    for (std::string line; std::getline(stream, line);)
      lines.push_back(nlohmann::json::parse(line));
    return lines;
  }
  std::vector<std::string> ids() const {
    std::vector<std::string> list;
    for (const nlohmann::json &line : results())
      list.push_back(line["id"]);
    return list;
  }

  TemporaryFolder folder;
  BatchFormat format;
};

} // namespace baton::test

#endif // BATON_TEST_RUNTIME_BATCH_BATCH_FILE_TEST_H
