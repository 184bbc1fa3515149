# find_package(mxc CONFIG): the compiler as the target mxc::mxc, and mxc_add_model, which makes targets of models. Everything is found relative to
# this file, lib/cmake/mxc below where mxc is installed.
get_filename_component(MXC_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." REALPATH)
if(NOT TARGET mxc::mxc)
  add_executable(mxc::mxc IMPORTED)
  set_target_properties(mxc::mxc PROPERTIES IMPORTED_LOCATION "${MXC_PREFIX}/bin/mxc")
endif()
# What a library or program of mxc's is made with: a newer one is a reason to make it again.
file(GLOB_RECURSE MXC_OWN_FILES "${MXC_PREFIX}/lib/mxc/*.a" "${MXC_PREFIX}/lib/mxc/*.bc" "${MXC_PREFIX}/lib/mxc/*.txt"
     "${MXC_PREFIX}/include/mxc/*.h")
list(APPEND MXC_OWN_FILES "${MXC_PREFIX}/bin/mxc" "${MXC_PREFIX}/lib/mxc/mxc-stage")
include("${CMAKE_CURRENT_LIST_DIR}/mxc_add_model.cmake")
