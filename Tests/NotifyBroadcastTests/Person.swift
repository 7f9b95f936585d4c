import TestSupport

/// A receiver of two protocols that have a method in common.
final class Person: UserEvents, ShopEvents {
    let name: String
    let journal: Journal
    let onLeave: @Sendable (Person) -> Void

    init(_ name: String, _ journal: Journal, onLeave: @escaping @Sendable (Person) -> Void = { _ in }) {
        self.name = name
        self.journal = journal
        self.onLeave = onLeave
    }

    func userDidFollow(_ user: String, at time: Int) { journal.note("\(name): \(user) at \(time)") }
    func userDidLeave() {
        journal.note("\(name): left")
        onLeave(self)
    }
}
