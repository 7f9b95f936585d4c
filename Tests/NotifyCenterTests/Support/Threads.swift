import Foundation
import Synchronization

/// Runs the body on so many threads of their own, which all begin at once, and returns when all have ended. Tasks would not
/// do: there may be as few threads for them as one.
func onThreads(_ count: Int, _ body: @escaping @Sendable (_ thread: Int) -> Void) async {
    final class Gate: Sendable {
        let arrived = Atomic(0)
        let left = Atomic(0)
    }
    let gate = Gate()
    await withCheckedContinuation { continuation in
        for number in 0..<count {
            Thread.detachNewThread {
                gate.arrived.wrappingAdd(1, ordering: .acquiringAndReleasing)
                while gate.arrived.load(ordering: .acquiring) < count { Thread.yield() }
                body(number)
                let left = gate.left.wrappingAdd(1, ordering: .acquiringAndReleasing).newValue
                if left == count { continuation.resume() }
            }
        }
    }
}

extension Thread {
    fileprivate static func yield() { sched_yield() }
}
