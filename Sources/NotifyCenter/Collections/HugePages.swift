#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Huge pages, for large tables that are read at random: with pages of 4 KiB, most reads also miss the processor's cache
/// of page addresses.
enum HugePages {
    static let pageBytes = 2 << 20
    /// Smaller memory is left on ordinary pages, because the last huge page may be mostly unused.
    private static let smallestByteCount = 4 * pageBytes

    /// Asks the kernel for huge pages. Has an effect only on memory that was not written yet, and none if the memory is
    /// small or the kernel has no huge pages to give.
    static func request(for memory: UnsafeMutableRawBufferPointer) {
        #if os(Linux)
            guard memory.count >= smallestByteCount, let base = memory.baseAddress else { return }
            let start = base.alignedUp(toMultipleOf: pageBytes)
            let end = (base + memory.count).alignedDown(toMultipleOf: pageBytes)
            _ = madvise(start, end - start, MADV_HUGEPAGE)
        #endif
    }
}
