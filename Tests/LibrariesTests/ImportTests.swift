import Foundation
import NotifyBroadcast
@_spi(Package) import NotifyCenter
import NotifyClient
import NotifyFoundation
import Observation
import Synchronization
import Testing

/// The expansion of `@Observable` qualifies names with `Observation`. A public type of this name in an imported module
/// would hide the standard library's module.
@Observable private final class Model {
    var title = "old"
}

@Suite struct ImportTests {
    @Test func `an observable type compiles in a file that imports every library`() {
        let model = Model()
        let changes = Mutex(0)
        withObservationTracking {
            _ = model.title
        } onChange: {
            changes.withLock { $0 += 1 }
        }
        model.title = "new"
        #expect(changes.withLock { $0 } == 1)
    }

    @Test func `the name of each library qualifies its types`() {
        let types: [Any.Type] = [
            NotifyBroadcast.BroadcastError.self, NotifyCenter.LocalCenter.self, NotifyClient.NotifyError.self,
            NotifyFoundation.CompatibleNotificationCenter.self,
        ]
        let modules = types.map { String(reflecting: $0).prefix { $0 != "." } }
        #expect(modules == ["NotifyBroadcast", "NotifyCenter", "NotifyClient", "NotifyFoundation"])
    }
}
