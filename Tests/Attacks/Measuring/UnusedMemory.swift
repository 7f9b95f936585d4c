import Glibc

/// Memory that no process has used since the machine started.
///
/// The host of a virtual machine provides such memory page by page. The first use of a page then takes 10 us instead of
/// 1 us, which the kernel counts as work of the thread that needs the page. In a measurement, a turn of the event loop
/// that filled socket buffers of 40 MB took 111 ms that way, and 5 ms otherwise.
enum UnusedMemory {
    /// The bytes to use, which are more than the daemon and its sockets use during attacks.
    private static let size = 1 << 30

    /// Uses and frees memory, which the kernel then gives to the daemon and its sockets.
    static func use() {
        let memory = mmap(
            nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0)
        if memory != MAP_FAILED { munmap(memory, size) }
    }
}
