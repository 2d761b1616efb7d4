// Ranks gather each other's numbers, in GPU memory if there is a GPU:
//
//   hello_gpus --ranks 2 --device cuda
//   mpirun -n 2 hello_gpus --device cuda

#include <weft/weft.hpp>

#include <vector>

int main(int argc, char** argv) {
  return weft::launch(argc, argv, [](const weft::Comm& world) {
    const weft::Device device = world.device();
    const auto ranks = static_cast<std::size_t>(world.size());

    weft::Buffer<double> mine(1, device);
    weft::Buffer<double> all(world.size(), device);
    const double number = 1.5 * (world.rank() + 1);
    weft::copy_bytes(mine.data(), device, &number, weft::Device::cpu(), sizeof(number));

    world.all_gather(mine, all);  // issued to the GPU; nobody waits here

    std::vector<double> numbers(ranks);
    weft::copy_bytes(numbers.data(), weft::Device::cpu(), all.data(), device,
                     ranks * sizeof(double));
    weft::print(world, "{} ranks on {}, by the route {}:\n", ranks, device, world.route(device));
    for (const double each : numbers) weft::print(world, "  {}\n", each);
  });
}
