/// Observers by the number that the core knows them by.
struct ObserverTable {
    private var observers: ContiguousArray<Observer?> = []
    private var vacant: ContiguousArray<Int32> = []

    /// A number that nobody has. It is taken with the next ``subscript(_:)``.
    var nextSlot: Int32 { vacant.last ?? Int32(observers.count) }

    subscript(slot: Int32) -> Observer? {
        observers.indices.contains(Int(slot)) ? observers[Int(slot)] : nil
    }

    /// Puts an observer where `nextSlot` said.
    mutating func insert(_ observer: Observer) {
        if vacant.popLast() == nil {
            observers.append(observer)
        } else {
            observers[Int(observer.slot)] = observer
        }
    }

    mutating func remove(_ slot: Int32) -> Observer? {
        guard let observer = observers[Int(slot)].take() else { return nil }
        vacant.append(slot)
        if vacant.count == observers.count {
            observers = []
            vacant = []
        }
        return observer
    }

    var all: some Sequence<Observer> { observers.lazy.compactMap(\.self) }
}
