import Foundation
import NotifyFoundation

/// `CompatibleNotificationCenter` compared with Foundation's `NotificationCenter`.
func compatibleCases() -> [Case] {
    [
        plainPost(to: 0, atLeast: 1), plainPost(to: 1, atLeast: 2), plainPost(to: 1_000, atLeast: 4),
        Case("post under a new name, CompatibleNotificationCenter", .atLeast(1)) {
            let centers = Centers()
            let compatible = CompatibleNotificationCenter()
            // The tokens are not kept: as with Foundation, releasing them does not end the observations.
            _ = (compatible.observe(centers.tally), centers.foundationObserve())
            let names = NewNames()
            return (
                names.posts { compatible.post(name: $0, object: nil) },
                names.posts { centers.foundations.post(name: $0, object: nil) }
            )
        },
        Case("typed message to 1, CompatibleNotificationCenter", .atLeast(1)) { typedPost() },
    ]
}

struct CompatiblePaid: CompatibleNotificationCenter.MainActorMessage {
    typealias Subject = Instance
    static var name: Notification.Name { .created }
    let order: Int
}

private func typedPost() -> (Contender, Contender) {
    let centers = Centers()
    let tally = centers.tally
    let compatible = CompatibleNotificationCenter()
    let token = MainActor.assumeIsolated {
        compatible.addObserver(for: CompatiblePaid.self) { @MainActor (_: CompatiblePaid) -> Void in tally.add() }
    }
    return (
        centers.posts(50_000, holding: [token]) { count in
            MainActor.assumeIsolated {
                for order in 0..<count { compatible.post(CompatiblePaid(order: order)) }
            }
        },
        foundationTypedPosts(centers)
    )
}

private func plainPost(to observers: Int, atLeast budget: Double) -> Case {
    Case("post to \(observers), CompatibleNotificationCenter", .atLeast(budget)) {
        let centers = Centers()
        let compatible = CompatibleNotificationCenter()
        let tokens = (0..<observers).map { _ in compatible.observe(centers.tally) }
        return (
            centers.posts(observers > 100 ? 500 : 50_000, to: observers, holding: tokens) { count in
                for _ in 0..<count { compatible.post(name: .created, object: nil) }
            },
            foundationPosts(centers, to: observers)
        )
    }
}

extension CompatibleNotificationCenter {
    fileprivate func observe(_ tally: Tally) -> any NSObjectProtocol {
        addObserver(forName: .created, object: nil, queue: nil) { _ in tally.add() }
    }
}

/// Names that were not used with any center before.
private final class NewNames {
    private static let count = 20_000
    private var last = 0

    /// The cost of a post under a new name.
    func posts(_ post: @escaping (Notification.Name) -> Void) -> Contender {
        return {
            let names = (0..<Self.count).map { Notification.Name("orders.created.in.region.\(self.last + $0)") }
            self.last += Self.count
            return processorTime { for name in names { post(name) } } / Double(Self.count)
        }
    }
}
