# SPDX-License-Identifier: Apache-2.0
# Read by ctest before it runs a test. Who became root by one of these has more rights than the user who they name: the tool would not listen to the
# variables by which the tests make it fail (base/test_variable.h). The test of just that sets them itself.
foreach(invoker SUDO_UID PKEXEC_UID DOAS_USER)
  unset(ENV{${invoker}})
endforeach()
