//===- embedding_vector.h - what becomes of hidden states -----------------===//

#ifndef BATON_RUNTIME_SERVE_EMBEDDING_VECTOR_H
#define BATON_RUNTIME_SERVE_EMBEDDING_VECTOR_H

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace baton {

/// How long vectors are made, in llama.cpp's numbers ("embd_normalize"):
/// `largest` scales the largest element to 32,760, 1 and more the norm of that
/// order to 1.
enum VectorLength : int32_t { as_it_is = -1, largest = 0, euclidean = 2 };

/// A vector without a direction stays as it is.
std::vector<float> normalized(std::span<const float> vector, int32_t length);

/// The cosine of the angle between two vectors, -1 to 1; 0 where one has no
/// direction.
double cosine(std::span<const float> left, std::span<const float> right);

/// Base64 of the elements, little endian (RFC 4648, with padding).
std::string base64_of(std::span<const float> vector);

} // namespace baton

#endif // BATON_RUNTIME_SERVE_EMBEDDING_VECTOR_H
