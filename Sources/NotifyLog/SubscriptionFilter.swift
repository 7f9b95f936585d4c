package import NotifyCenter
import NotifyWire

/// Which messages a subscription is for.
package struct SubscriptionFilter: Equatable, Sendable {
    package var patterns: [NamePattern]
    /// Where set, only messages with an equal object.
    package var object: String?
    /// Whose rights bound what is received.
    package var uid: UInt32

    package init(patterns: [NamePattern], object: String? = nil, uid: UInt32) {
        self.patterns = patterns
        self.object = object
        self.uid = uid
    }

    /// Whether messages of this name are for the subscription, its uid's rights included. Objects are not looked at.
    package func matches(name: UnsafeRawBufferPointer) -> Bool {
        NameRights.mayReceive(name, uid: uid)
            && patterns.contains { $0.matches(utf8: name) && NameRights.isVisible(name, to: $0) }
    }
}
