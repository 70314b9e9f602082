#include "support/npz.h"

#include "support/error.h"
#include "support/npy.h"
#include "support/zip.h"

namespace opsmith {

std::map<std::string, Tensor> read_npz(const std::string& path, const SampleRange& samples) {
  const ZipReader archive(path);
  std::map<std::string, Tensor> tensors;
  for (const ZipReader::Entry& entry : archive.entries()) {
    std::string name = entry.name;
    if (!name.ends_with(".npy")) {
      throw UserError("'" + path + "' holds '" + name +
                      "', which is no .npy array; write it with " + "numpy.savez");
    }
    name.resize(name.size() - 4);
    tensors[name] = parse_npy(archive.read(entry), path + ":" + entry.name, samples);
  }
  if (tensors.empty()) throw UserError("'" + path + "' holds no arrays");
  return tensors;
}

void write_npz(const std::string& path, const std::map<std::string, Tensor>& tensors,
               bool deflate) {
  ZipWriter archive;
  for (const auto& [name, tensor] : tensors) {
    archive.add(name + ".npy", npy_bytes(tensor), deflate);
  }
  write_file(path, archive.finish());
}

}  // namespace opsmith
