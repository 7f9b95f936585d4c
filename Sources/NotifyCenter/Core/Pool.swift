/// Small plain values that refer to each other by number. A number stays the same until its value is removed, and is then
/// given to another.
struct Pool<Element: BitwiseCopyable> {
    private var elements: ContiguousArray<Element> = []
    private var vacant: ContiguousArray<Int32> = []

    var count: Int { elements.count - vacant.count }

    /// How many values there could be before the storage grows, vacant places included.
    var extent: Int { elements.count }

    subscript(index: Int32) -> Element {
        @inline(__always) get { elements[Int(index)] }
        @inline(__always) set { elements[Int(index)] = newValue }
    }

    mutating func insert(_ element: Element) -> Int32 {
        if let index = vacant.popLast() {
            elements[Int(index)] = element
            return index
        }
        elements.append(element)
        return Int32(elements.count - 1)
    }

    mutating func remove(_ index: Int32) {
        vacant.append(index)
        if vacant.count == elements.count {
            // What a burst needed is given back once nobody uses it.
            elements = []
            vacant = []
        }
    }
}

extension Pool: Sendable where Element: Sendable {}
