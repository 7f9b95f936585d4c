import Glibc

/// Free memory of the machine that the host of a virtual machine has already provided.
///
/// The host provides memory page by page when it is used for the first time. The first use of a page then takes 10 us
/// instead of 1 us, and longer on a busy host, which the kernel counts as work of the thread that needs the page. In a
/// measurement, a turn of the event loop that filled socket buffers of 40 MB took 111 ms that way, and 5 ms otherwise.
///
/// The kernel may also return free memory to the host (free page reporting): 1 GiB that was used and freed was slow to
/// use again after 3 s. It returns only whole free blocks of 2 MB. So this value keeps a page of each 256 KiB, for as
/// long as it exists. The pages between them are free, and the kernel uses them before it divides larger blocks.
struct BackedMemory: ~Copyable {
    /// The bytes that are backed, which are more than the daemon and its sockets use during attacks.
    private static let size = 1 << 30
    private static let pageBytes = 4096
    /// The bytes of which one page is kept.
    private static let stride = 256 << 10

    private let memory: UnsafeMutableRawPointer

    /// Uses the memory, and frees all except the kept pages. Does nothing if the kernel refuses the memory.
    init() {
        memory = mmap(nil, Self.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard memory != MAP_FAILED else { return }
        madvise(memory, Self.size, MADV_NOHUGEPAGE)
        for offset in Swift.stride(from: 0, to: Self.size, by: Self.pageBytes) {
            memory.storeBytes(of: 1, toByteOffset: offset, as: UInt8.self)
        }
        for offset in Swift.stride(from: 0, to: Self.size, by: Self.stride) {
            madvise(memory + offset + Self.pageBytes, Self.stride - Self.pageBytes, MADV_DONTNEED)
        }
    }

    deinit {
        if memory != MAP_FAILED { munmap(memory, Self.size) }
    }
}
