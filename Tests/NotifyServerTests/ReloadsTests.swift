import Synchronization
import Testing

@testable import NotifyServer

struct ReloadsTests {
    @Test func `reloads above the limit are refused, but not as an invalid configuration`() {
        let reloads = Reloads()
        let outcomes = Mutex<[ReloadOutcome]>([])
        for _ in 0..<66 { reloads.request { outcome in outcomes.withLock { $0.append(outcome) } } }
        let refused = ReloadOutcome.refused("64 reloads are pending: try again later")
        #expect(outcomes.withLock { $0 } == [refused, refused])
    }
}
