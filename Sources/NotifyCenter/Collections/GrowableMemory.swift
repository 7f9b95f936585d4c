#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Uninitialized memory that grows. Large memory grows in place, because a copy is one uninterrupted piece of work: in a
/// virtual machine, which gets new pages from its host, copying 32 MiB to 64 MiB took 110 ms.
///
/// Small memory comes from the heap. Large memory is the beginning of a range of reserved addresses, of which more and
/// more is made accessible. Pages take memory only once they are used.
///
/// `@unchecked Sendable` because of the pointers: the memory belongs to this value, which is noncopyable.
struct GrowableMemory: ~Copyable, @unchecked Sendable {
    /// The smallest size for which addresses are reserved.
    private static let smallestReservedUse = 8 << 20
    /// The number of times that reserved memory can double before it is copied to another range.
    private static let doublings = 6

    /// The first byte; nil if there is no memory.
    private(set) var start: UnsafeMutableRawPointer?
    private var byteCount = 0
    /// The range of addresses that contains the memory; empty if the memory is from the heap.
    private var reservation = UnsafeMutableRawBufferPointer(start: nil, count: 0)

    init() {}

    deinit { Self.deallocate(start, reservation) }

    /// Grows the memory, and keeps its content. `start` may change.
    ///
    /// - Parameters:
    ///   - byteCount: More bytes than before.
    ///   - alignment: The alignment of `start`, at most that of a page.
    mutating func grow(to byteCount: Int, alignment: Int) {
        defer { self.byteCount = byteCount }
        if let start, let end = reservation.end, end - start >= byteCount {
            Self.makeAccessible(start, byteCount)
            return
        }
        let (oldStart, oldReservation) = (start, reservation)
        reservation = Self.reserve(byteCount)
        let new: UnsafeMutableRawPointer
        if let base = reservation.baseAddress {
            new = base.alignedUp(toMultipleOf: HugePages.pageBytes)
            Self.makeAccessible(new, byteCount)
        } else {
            new = .allocate(byteCount: byteCount, alignment: alignment)
        }
        if let oldStart { new.copyMemory(from: oldStart, byteCount: self.byteCount) }
        Self.deallocate(oldStart, oldReservation)
        start = new
    }

    mutating func release() {
        Self.deallocate(start, reservation)
        (start, byteCount, reservation) = (nil, 0, UnsafeMutableRawBufferPointer(start: nil, count: 0))
    }

    /// Reserves addresses for memory that grows from `byteCount`. Returns an empty range if the memory is small, or the
    /// process may not use so many addresses.
    private static func reserve(_ byteCount: Int) -> UnsafeMutableRawBufferPointer {
        let none = UnsafeMutableRawBufferPointer(start: nil, count: 0)
        guard byteCount >= smallestReservedUse else { return none }
        let size = byteCount << doublings + HugePages.pageBytes
        guard let base = mmap(nil, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0),
            base != MAP_FAILED
        else { return none }
        let range = UnsafeMutableRawBufferPointer(start: base, count: size)
        HugePages.request(for: range)
        return range
    }

    private static func makeAccessible(_ start: UnsafeMutableRawPointer, _ byteCount: Int) {
        precondition(mprotect(start, byteCount, PROT_READ | PROT_WRITE) == 0, "no memory for \(byteCount) bytes")
    }

    private static func deallocate(_ start: UnsafeMutableRawPointer?, _ reservation: UnsafeMutableRawBufferPointer) {
        if let base = reservation.baseAddress {
            munmap(base, reservation.count)
        } else {
            start?.deallocate()
        }
    }
}

extension UnsafeMutableRawBufferPointer {
    fileprivate var end: UnsafeMutableRawPointer? { baseAddress.map { $0 + count } }
}
