/// A growing buffer of trivial values for intermediate results, which keeps its memory between uses. Unlike an array,
/// it is never shared, so appending checks only the capacity.
///
/// `@unchecked Sendable` because of the pointer: the memory belongs to this value, which is noncopyable.
struct ReusableBuffer<Element: BitwiseCopyable>: ~Copyable, @unchecked Sendable {
    private var memory = UnsafeMutableBufferPointer<Element>(start: nil, count: 0)
    private(set) var count = 0

    init() {}

    deinit { memory.deallocate() }

    var isEmpty: Bool { count == 0 }

    /// The values. Valid until the buffer changes.
    @inline(__always)
    var values: UnsafeMutableBufferPointer<Element> {
        UnsafeMutableBufferPointer(start: memory.baseAddress, count: count)
    }

    subscript(index: Int) -> Element {
        @inline(__always) get { values[index] }
    }

    @inline(__always)
    mutating func append(_ element: Element) {
        if count == memory.count { grow() }
        memory[count] = element
        count &+= 1
    }

    @inline(__always)
    mutating func removeAll() { count = 0 }

    /// Removes all values, and releases the memory if its capacity exceeds a limit.
    mutating func removeAll(keepingAtMost capacity: Int) {
        count = 0
        if memory.count > capacity {
            memory.deallocate()
            memory = .init(start: nil, count: 0)
        }
    }

    /// Removes the values that do not satisfy a predicate, which is called once for each value, in order.
    mutating func keepAll(where isKept: (Element) -> Bool) {
        var kept = 0
        for index in 0..<count where isKept(memory[index]) {
            memory[kept] = memory[index]
            kept += 1
        }
        count = kept
    }

    @inline(never)
    private mutating func grow() {
        let grown = UnsafeMutableBufferPointer<Element>.allocate(capacity: max(16, memory.count * 2))
        _ = grown.moveInitialize(fromContentsOf: values)
        memory.deallocate()
        memory = grown
    }
}
