//===- page_pool.h - who has which page, and what pages still hold -------===//
//
// Pages are counted references. A page that a sequence writes has one owner.
// One whose positions are all computed is never written again: it can be
// published, and is then found by what it holds, its tokens behind those of the
// page before it. So sequences that begin alike share pages, and what nobody
// refers to any more stays until its room is needed, the longest unused first.
//
// What a page holds is looked up by a hash of its tokens and of what is before
// them, and compared itself: collisions cost time and change nothing. For what
// is before it stands a number that no other content ever gets.
//
// Nothing is allocated after construction; every operation takes constant time
// (for the 64 tokens of a page).
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_BATCH_PAGE_POOL_H
#define BATON_RUNTIME_BATCH_PAGE_POOL_H

#include "runtime/execute/batch_inputs.h"

#include <cstdint>
#include <span>
#include <vector>

namespace baton {

class PagePool {
public:
  /// No page.
  static constexpr int32_t none = -1;

  /// `keeps_prefixes`: whether published pages are found again.
  PagePool(uint64_t pages, bool keeps_prefixes);

  /// A page to write, with one reference; none when all are referred to.
  int32_t take();
  /// One reference more, or less. Whoever has several pages of a sequence
  /// releases the last one first: what is behind a page is of no use without
  /// it.
  void share(int32_t page);
  void release(int32_t page);

  /// The caller's page holds these tokens, all computed, behind the published
  /// page `parent`, or none at the beginning. Returns the page to use in its
  /// place, with the caller's reference: another one when that holds the same.
  /// Throws std::logic_error when `parent` is not published: what is behind it
  /// would be taken for a beginning. Beginnings with different numbers, below
  /// 2^63, share no pages: what they hold depends on what the number stands
  /// for, too.
  int32_t publish(int32_t page, int32_t parent,
                  std::span<const int32_t, page_positions> tokens,
                  uint64_t beginning = 0);
  /// A published page with these tokens behind `parent`, with a reference
  /// more, or none.
  int32_t find(int32_t parent, std::span<const int32_t, page_positions> tokens,
               uint64_t beginning = 0);

  uint64_t size() const { return pages.size(); }
  /// Pages that take() would give.
  uint64_t available() const { return free.size() + cached; }
  /// Those of them that can still be found.
  uint64_t cached_pages() const { return cached; }
  uint32_t references(int32_t page) const { return at(page).references; }
  bool is_published(int32_t page) const { return at(page).content != 0; }

private:
  struct Page {
    uint32_t references = 0;
    /// Of published pages, else 0: the number of the content, that of the
    /// content before it, and the hash.
    uint64_t content = 0, parent = 0, hash = 0;
    /// Of published pages: the next one with such a hash.
    int32_t next = none;
    /// Of those that nobody refers to: the one unused for longer, and shorter.
    int32_t older = none, newer = none;
  };

  Page &at(int32_t page) { return pages[static_cast<size_t>(page)]; }
  const Page &at(int32_t page) const {
    return pages[static_cast<size_t>(page)];
  }
  int32_t &bucket(uint64_t hash) {
    return buckets[hash & (buckets.size() - 1)];
  }
  uint64_t content_of(int32_t parent, uint64_t beginning) const;
  uint64_t hash_of(int32_t parent,
                   std::span<const int32_t, page_positions> tokens,
                   uint64_t beginning) const;
  int32_t look_up(uint64_t hash, uint64_t parent,
                  std::span<const int32_t, page_positions> tokens);
  void forget(int32_t page);
  void enter_unused(int32_t page);
  void leave_unused(int32_t page);

  std::vector<Page> pages;
  const bool keeps_prefixes;
  /// Those of published pages, 64 of each page.
  std::vector<int32_t> page_tokens;
  /// The first published page of each hash; a power of two of them.
  std::vector<int32_t> buckets;
  /// Pages that hold nothing.
  std::vector<int32_t> free;
  /// Published pages that nobody refers to.
  int32_t oldest = none, newest = none;
  uint64_t cached = 0;
  uint64_t contents = 0;
};

} // namespace baton

#endif // BATON_RUNTIME_BATCH_PAGE_POOL_H
