# Every dependency is a Debian package; docs/dependencies.md says why each is here.
find_package(Protobuf REQUIRED)
find_package(Eigen3 REQUIRED NO_MODULE)
find_package(OpenMP REQUIRED)
find_package(spdlog REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(ZLIB REQUIRED)
find_package(Threads REQUIRED)

# Debian's onnx headers need ONNX_ML and its namespace spelled out; they are not warning-clean.
find_library(ONNX_LIBRARY onnx REQUIRED)
find_library(ONNX_PROTO_LIBRARY onnx_proto REQUIRED)
add_library(opsmith_onnx INTERFACE)
target_compile_definitions(opsmith_onnx INTERFACE ONNX_ML=1 ONNX_NAMESPACE=onnx)
target_link_libraries(opsmith_onnx INTERFACE ${ONNX_LIBRARY} ${ONNX_PROTO_LIBRARY}
                      protobuf::libprotobuf)

# Linked by hand: LLVM's own CMake package pulls in every component and its dependencies.
find_path(LLVM_INCLUDE_DIR llvm/IR/IRBuilder.h PATHS /usr/lib/llvm-19/include REQUIRED
          NO_DEFAULT_PATH)
find_library(LLVM_LIBRARY LLVM-19 PATHS /usr/lib/llvm-19/lib REQUIRED NO_DEFAULT_PATH)
add_library(opsmith_llvm INTERFACE)
target_include_directories(opsmith_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIR})
target_link_libraries(opsmith_llvm INTERFACE ${LLVM_LIBRARY})

add_library(opsmith_flags INTERFACE)
target_include_directories(opsmith_flags INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/opsmith>)
target_compile_features(opsmith_flags INTERFACE cxx_std_20)

find_path(RE2_INCLUDE_DIR re2/re2.h REQUIRED)
find_library(RE2_LIBRARY re2 REQUIRED)
