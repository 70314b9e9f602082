# Installs the libraries, their headers and a CMake package:
#   find_package(opsmith REQUIRED)
#   target_link_libraries(application PRIVATE opsmith::opsmith)
include(CMakePackageConfigHelpers)

get_property(opsmith_libraries GLOBAL PROPERTY OPSMITH_LIBRARIES)
add_library(opsmith_everything INTERFACE)
set_target_properties(opsmith_everything PROPERTIES EXPORT_NAME opsmith)
target_link_libraries(opsmith_everything INTERFACE ${opsmith_libraries})

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/opsmith)
install(TARGETS opsmith_everything opsmith_flags opsmith_onnx opsmith_llvm ${opsmith_libraries}
        EXPORT opsmith ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/opsmith)
install(EXPORT opsmith NAMESPACE opsmith:: FILE opsmithTargets.cmake
        DESTINATION ${package_folder})
install(DIRECTORY support graph importer exporter runtime substitute search models
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/opsmith FILES_MATCHING PATTERN "*.h")

configure_package_config_file(cmake/opsmithConfig.cmake.in opsmithConfig.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(opsmithConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/opsmithConfig.cmake
        ${PROJECT_BINARY_DIR}/opsmithConfigVersion.cmake DESTINATION ${package_folder})
