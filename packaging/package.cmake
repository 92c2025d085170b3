# The Debian package, by cpack. It holds the program without shared libraries where that is built, so that one package serves every release of Debian.
include(GNUInstallDirs)
# What README.md leads to is beside it.
foreach(name README CHANGELOG CONTRIBUTING SECURITY)
  install(FILES ${PROJECT_SOURCE_DIR}/${name}.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs FILES_MATCHING PATTERN "*.md" PATTERN "*.svg" PATTERN "*.png" PATTERN man EXCLUDE)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/packaging/examples/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)

# cpack builds everything first, unless told not to; with the tests that is a look at a thousand files for nothing.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ${HEAPSNAP_TESTS})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME heapsnap)
set(CPACK_PACKAGE_CONTACT "heapsnap developers <developers@heapsnap.invalid>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS debuginfod) # dump --debuginfod
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "heap profiles of running processes that were not prepared")
set(CPACK_PACKAGE_DESCRIPTION "heapsnap attaches to a process that was built without a profiler and
cannot be restarted, keeps a table of its live allocations with their call
stacks, writes profiles in pprof's format while the process runs, and
detaches without a trace.")
if(HEAPSNAP_ZYDIS_SOURCE)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS OFF)
else()
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
endif()
# What a Debian package has and an installation elsewhere has not.
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/packaging/debian_files.cmake)
include(CPack)
