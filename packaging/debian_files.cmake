# Run by cpack in the tree that it is about to pack: manual pages compressed, the changelog and the licences where Debian has them, what lintian is told and why;
# every time as SOURCE_DATE_EPOCH says, if it is set.
set(tree ${CPACK_TEMPORARY_INSTALL_DIRECTORY})
set(here ${CMAKE_CURRENT_LIST_DIR})
execute_process(COMMAND ${here}/debian_files.sh ${tree} ${CPACK_PACKAGE_VERSION} COMMAND_ERROR_IS_FATAL ANY)
