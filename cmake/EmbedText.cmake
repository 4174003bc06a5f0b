# Writes the file INPUT as a C++ string literal to OUTPUT.
file(READ ${INPUT} text)
file(WRITE ${OUTPUT} "R\"~~~(${text})~~~\"\n")
