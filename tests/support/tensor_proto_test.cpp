#include "support/tensor_proto.h"

#include <onnx/onnx_pb.h>

#include <cstring>

#include "support/error.h"

namespace opsmith {
namespace {

TEST(TensorProto, EveryTypeSurvivesTheRoundTrip) {
  for (int number = 1; number <= 16; ++number) {
    const ElementType type = element_type_from_onnx(number);
    if (type == ElementType::Undefined) continue;
    EXPECT_EQ(onnx_data_type(type), number);
    Tensor tensor = Tensor::zeros(type, {2, 3});
    if (type == ElementType::String) {
      tensor.strings()[4] = "text";
    } else {
      std::memset(tensor.raw(), 1, tensor.bytes());
    }
    onnx::TensorProto proto;
    tensor_to_proto(tensor, proto);
    proto.set_name("t");
    std::string name;
    const Tensor back = parse_tensor_proto(proto.SerializeAsString(), "test", &name);
    EXPECT_TRUE(identical(tensor, back)) << to_string(type);
    EXPECT_EQ(name, "t");
  }
}

TEST(TensorProto, HalvesAndSmallIntegersLieInInt32Data) {
  onnx::TensorProto proto;
  proto.set_data_type(onnx::TensorProto::FLOAT16);
  proto.add_dims(2);
  proto.add_int32_data(0x3c00);
  proto.add_int32_data(0xc000);
  const Tensor half = tensor_from_proto(proto, "test").cast(ElementType::Float32);
  EXPECT_EQ(half.data<float>()[0], 1.0f);
  EXPECT_EQ(half.data<float>()[1], -2.0f);

  proto.set_data_type(onnx::TensorProto::INT8);
  proto.set_int32_data(0, -5);
  EXPECT_EQ(tensor_from_proto(proto, "test").data<int8_t>()[0], -5);

  proto.set_data_type(onnx::TensorProto::BOOL);
  EXPECT_EQ(tensor_from_proto(proto, "test").data<uint8_t>()[0], 1);
}

TEST(TensorProto, BytesThatDoNotFitTheShapeAreRefused) {
  onnx::TensorProto proto;
  proto.set_data_type(onnx::TensorProto::FLOAT);
  proto.add_dims(3);
  proto.set_raw_data("12345678");
  EXPECT_THROW(tensor_from_proto(proto, "test"), UserError);
  proto.clear_raw_data();
  proto.add_float_data(1);
  EXPECT_THROW(tensor_from_proto(proto, "test"), UserError);
}

TEST(TensorProto, AbsurdShapesAreRefusedWithoutAllocating) {
  onnx::TensorProto proto;
  proto.set_data_type(onnx::TensorProto::FLOAT);
  proto.add_dims(int64_t{1} << 50);
  EXPECT_THROW(tensor_from_proto(proto, "test"), UserError);
  proto.set_raw_data("");
  EXPECT_THROW(tensor_from_proto(proto, "test"), UserError);
  proto.add_dims(int64_t{1} << 50);
  EXPECT_THROW(tensor_from_proto(proto, "test"), UserError);
  proto.set_dims(0, -1);
  EXPECT_THROW(tensor_from_proto(proto, "test"), UserError);
}

TEST(TensorProto, UnknownTypesAndDamageAreRefused) {
  onnx::TensorProto proto;
  proto.set_data_type(onnx::TensorProto::COMPLEX64);
  EXPECT_THROW(tensor_from_proto(proto, "test"), Unsupported);
  EXPECT_THROW(parse_tensor_proto("", "test"), UserError);
  EXPECT_THROW(parse_tensor_proto("\xff\xff\xff", "test"), UserError);
}

}  // namespace
}  // namespace opsmith
