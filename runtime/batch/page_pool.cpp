//===- page_pool.cpp - who has which page, and what pages still hold -----===//

#include "runtime/batch/page_pool.h"

#include "runtime/weights/hash.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <stdexcept>

namespace baton {

PagePool::PagePool(uint64_t count, bool keeps_prefixes)
    : pages(count), keeps_prefixes(keeps_prefixes) {
  free.reserve(count);
  // The first page is taken first.
  for (uint64_t page = count; page-- > 0;)
    free.push_back(static_cast<int32_t>(page));
  if (!keeps_prefixes)
    return;
  page_tokens.resize(count * page_positions);
  buckets.assign(std::bit_ceil(std::max<uint64_t>(count, 1)), none);
}

int32_t PagePool::take() {
  int32_t page = none;
  if (!free.empty()) {
    page = free.back();
    free.pop_back();
  } else if (oldest != none) {
    page = oldest;
    leave_unused(page);
    forget(page);
  } else {
    return none;
  }
  at(page).references = 1;
  return page;
}

void PagePool::share(int32_t page) {
  if (at(page).references++ == 0)
    leave_unused(page);
}

void PagePool::release(int32_t page) {
  assert(at(page).references > 0);
  if (--at(page).references > 0)
    return;
  if (at(page).content)
    enter_unused(page);
  else
    free.push_back(page);
}

int32_t PagePool::publish(int32_t page, int32_t parent,
                          std::span<const int32_t, page_positions> tokens,
                          uint64_t beginning) {
  if (!keeps_prefixes)
    return page;
  assert(at(page).references == 1 && at(page).content == 0);
  const uint64_t hash = hash_of(parent, tokens, beginning);
  const uint64_t before = content_of(parent, beginning);
  if (int32_t same = look_up(hash, before, tokens); same != none) {
    share(same);
    release(page);
    return same;
  }
  std::copy(tokens.begin(), tokens.end(),
            page_tokens.begin() + ptrdiff_t(page) * page_positions);
  Page &published = at(page);
  published.content = ++contents;
  published.parent = before;
  published.hash = hash;
  published.next = bucket(hash);
  bucket(hash) = page;
  return page;
}

int32_t PagePool::find(int32_t parent,
                       std::span<const int32_t, page_positions> tokens,
                       uint64_t beginning) {
  if (!keeps_prefixes)
    return none;
  int32_t page = look_up(hash_of(parent, tokens, beginning),
                         content_of(parent, beginning), tokens);
  if (page != none)
    share(page);
  return page;
}

uint64_t PagePool::content_of(int32_t parent, uint64_t beginning) const {
  // No page's content has such a number.
  if (parent == none)
    return beginning ? beginning | uint64_t(1) << 63 : 0;
  if (at(parent).content == 0)
    throw std::logic_error("a page is behind one that is not published");
  return at(parent).content;
}

uint64_t PagePool::hash_of(int32_t parent,
                           std::span<const int32_t, page_positions> tokens,
                           uint64_t beginning) const {
  return hash_bytes(tokens.data(), tokens.size_bytes(),
                    parent == none ? beginning : at(parent).hash);
}

int32_t PagePool::look_up(uint64_t hash, uint64_t parent,
                          std::span<const int32_t, page_positions> tokens) {
  for (int32_t page = bucket(hash); page != none; page = at(page).next)
    if (at(page).hash == hash && at(page).parent == parent &&
        std::equal(tokens.begin(), tokens.end(),
                   page_tokens.begin() + ptrdiff_t(page) * page_positions))
      return page;
  return none;
}

/// What it holds is not found any more.
void PagePool::forget(int32_t page) {
  int32_t *link = &bucket(at(page).hash);
  while (*link != page)
    link = &at(*link).next;
  *link = at(page).next;
  at(page) = {};
}

void PagePool::enter_unused(int32_t page) {
  at(page).older = newest;
  at(page).newer = none;
  (newest == none ? oldest : at(newest).newer) = page;
  newest = page;
  ++cached;
}

void PagePool::leave_unused(int32_t page) {
  Page &leaving = at(page);
  (leaving.older == none ? oldest : at(leaving.older).newer) = leaving.newer;
  (leaving.newer == none ? newest : at(leaving.newer).older) = leaving.older;
  leaving.older = leaving.newer = none;
  --cached;
}

} // namespace baton
