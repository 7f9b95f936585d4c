import Foundation
import NotifyCenter

extension NotificationName {
    static let created = NotificationName(literal: "orders.created.in.europe")
}

extension Notification.Name {
    static let created = Notification.Name("orders.created.in.europe")
}

final class Instance: NSObject, Sendable {}

struct Paid: NotificationMessage {
    static let notificationName = NotificationName.created
    let order: Int
}

struct FoundationPaid: NotificationCenter.MainActorMessage {
    typealias Subject = Instance
    static var name: Notification.Name { .created }
    let order: Int
}

/// Foundation's center and ours, both after `churn` additions and removals.
struct Centers {
    let ours = LocalCenter()
    let foundations = NotificationCenter()
    let tally = Tally()

    init(churn: Int = 0) {
        var tokens: [ObservationToken] = []
        var foundationTokens: [any NSObjectProtocol] = []
        for _ in 0..<churn { tokens.append(ours.observe(NotificationName.created) { [tally] _ in tally.add() }) }
        for token in tokens { token.cancel() }
        for _ in 0..<churn {
            foundationTokens.append(
                foundations.addObserver(forName: .created, object: nil, queue: nil) { [tally] _ in tally.add() })
        }
        for token in foundationTokens { foundations.removeObserver(token) }
    }

    func observe(object: NotificationObject? = nil) -> ObservationToken {
        ours.observe(NotificationName.created, object: object) { [tally] _ in tally.add() }
    }

    func foundationObserve(object: Any? = nil) -> any NSObjectProtocol {
        foundations.addObserver(forName: .created, object: object, queue: nil) { [tally] _ in tally.add() }
    }

    /// Returns a contender that measures the cost of a post that must reach this number of observers. The contender
    /// keeps the observers' tokens.
    func posts(_ count: Int, to observers: Int = 1, holding tokens: [Any], _ post: @escaping (Int) -> Void) -> Contender
    {
        return {
            let before = tally.count
            let time = processorTime { post(count) }
            precondition(tally.count - before == count * observers, "an observer was not called")
            return withExtendedLifetime(tokens) { time / Double(count) }
        }
    }
}

func foundationPosts(_ centers: Centers, to observers: Int) -> Contender {
    let tokens = (0..<observers).map { _ in centers.foundationObserve() }
    return centers.posts(observers > 100 ? 50 : 20_000, to: observers, holding: tokens) { count in
        for _ in 0..<count { centers.foundations.post(name: .created, object: nil) }
    }
}

func postingCases(churn: Int) -> [Case] {
    let suffix = churn == 0 ? "" : ", after \(churn) ended observations"
    return [
        plainPost(to: 0, atLeast: 2, churn, suffix), plainPost(to: 1, atLeast: 5, churn, suffix),
        plainPost(to: 10, atLeast: 5, churn, suffix), plainPost(to: 1_000, atLeast: 10, churn, suffix),
        Case("post to 1 with a string object\(suffix)", .atLeast(5)) {
            let centers = Centers(churn: churn)
            let text: NotificationObject = "order 17"
            // Foundation compares objects by address, so all posts use the same string object.
            let foundationText = NSString("order 17")
            return (
                centers.posts(100_000, holding: [centers.observe(object: text)]) { count in
                    for _ in 0..<count { centers.ours.post(.created, object: text) }
                },
                centers.posts(20_000, holding: [centers.foundationObserve(object: foundationText)]) { count in
                    for _ in 0..<count { centers.foundations.post(name: .created, object: foundationText) }
                }
            )
        },
        Case("post to 1 with an instance object\(suffix)", .atLeast(5)) {
            let centers = Centers(churn: churn)
            let instance = Instance()
            return (
                centers.posts(100_000, holding: [centers.observe(object: .init(instance: instance))]) { count in
                    for _ in 0..<count { centers.ours.post(.created, object: .init(instance: instance)) }
                },
                centers.posts(20_000, holding: [centers.foundationObserve(object: instance)]) { count in
                    for _ in 0..<count { centers.foundations.post(name: .created, object: instance) }
                }
            )
        },
        Case("typed message to 1\(suffix)", .atLeast(5)) { typedPost(Centers(churn: churn)) },
        Case("post to 1000 owners, against weak references\(suffix)", .atMost(1.3)) {
            ownedPost(Centers(churn: churn))
        },
    ]
}

private func plainPost(to observers: Int, atLeast budget: Double, _ churn: Int, _ suffix: String) -> Case {
    Case("post to \(observers)\(suffix)", .atLeast(budget)) {
        let centers = Centers(churn: churn)
        let tokens = (0..<observers).map { _ in centers.observe() }
        return (
            centers.posts(observers > 100 ? 500 : 100_000, to: observers, holding: tokens) { count in
                for _ in 0..<count { centers.ours.post(.created) }
            },
            foundationPosts(centers, to: observers)
        )
    }
}

private func typedPost(_ centers: Centers) -> (Contender, Contender) {
    let tally = centers.tally
    let token = centers.ours.observe(Paid.self) { _ in tally.add() }
    return (
        centers.posts(100_000, holding: [token]) { count in
            for order in 0..<count { centers.ours.post(Paid(order: order)) }
        },
        foundationTypedPosts(centers)
    )
}

/// Posts `MainActorMessage`s, the typed messages that Foundation delivers synchronously.
func foundationTypedPosts(_ centers: Centers) -> Contender {
    let tally = centers.tally
    let token = MainActor.assumeIsolated {
        centers.foundations.addObserver(of: nil as Instance?, for: FoundationPaid.self) {
            @MainActor (_: FoundationPaid) -> Void in tally.add()
        }
    }
    return centers.posts(20_000, holding: [token]) { count in
        MainActor.assumeIsolated {
            for order in 0..<count { centers.foundations.post(FoundationPaid(order: order)) }
        }
    }
}

/// The baseline for owners: a weak reference, and a closure that is called with the object of the reference.
private struct WeakReceiver {
    weak var owner: Instance?
    let call: (Instance, LocalNotification) throws -> Void
}

private func ownedPost(_ centers: Centers) -> (Contender, Contender) {
    let tally = centers.tally
    let owners = (0..<1_000).map { _ in Instance() }
    for owner in owners { centers.ours.observe(NotificationName.created, owner: owner) { _, _ in tally.add() } }
    let receivers = owners.map { WeakReceiver(owner: $0) { _, _ in tally.add() } }
    return (
        centers.posts(100, to: 1_000, holding: owners) { count in
            for _ in 0..<count { centers.ours.post(.created) }
        },
        centers.posts(100, to: 1_000, holding: owners) { count in
            for _ in 0..<count {
                let notification = LocalNotification(name: .created)
                for receiver in receivers {
                    if let owner = receiver.owner { try? receiver.call(owner, notification) }
                }
            }
        }
    )
}
