# Writes the commit of the source to FILE, where it is another one: cmake -DSOURCE=... -DFILE=... -P WriteCommit.cmake
execute_process(COMMAND git -C "${SOURCE}" describe --always --dirty --abbrev=10 OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE
                ERROR_QUIET RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  set(commit "")
endif()
file(CONFIGURE OUTPUT "${FILE}" CONTENT "${commit}\n" @ONLY)
