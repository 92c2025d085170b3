# cmake -D SOURCE=... -D FILE=... -P version.cmake: writes the commit that the tree stands at into a header, which changes only where the commit does.
# A source package without git has the commit in the file COMMIT.
cmake_minimum_required(VERSION 3.25)
set(commit unknown)
find_program(GIT git)
if(EXISTS ${SOURCE}/COMMIT)
  file(STRINGS ${SOURCE}/COMMIT commit LIMIT_COUNT 1)
elseif(GIT AND EXISTS ${SOURCE}/.git)
  execute_process(COMMAND ${GIT} -C ${SOURCE} rev-parse --short=12 HEAD OUTPUT_VARIABLE head OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed ERROR_QUIET)
  execute_process(COMMAND ${GIT} -C ${SOURCE} --no-optional-locks status --porcelain --untracked-files=no
    OUTPUT_VARIABLE changes RESULT_VARIABLE unread ERROR_QUIET)
  if(NOT failed AND NOT unread)
    set(commit ${head})
    if(changes)
      string(APPEND commit "-dirty")
    endif()
  endif()
endif()
file(CONFIGURE OUTPUT ${FILE} CONTENT "#define HEAPSNAP_COMMIT \"@commit@\"\n" @ONLY)
