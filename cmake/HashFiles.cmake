# Writes a hash of FILES, separated by commas, as a C++ string literal to OUTPUT, which
# keeps its time while the hash is the same.
string(REPLACE "," ";" files "${FILES}")
set(hashes)
foreach(file IN LISTS files)
  file(SHA256 ${file} hash)
  string(APPEND hashes ${hash})
endforeach()
string(SHA256 hash "${hashes}")
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "\"${hash}\"\n")
