/// The sizes that the protocol allows. What a daemon is configured to is told in its welcome and is never more.
package enum Limits {
    /// Bytes of a name or pattern.
    package static let nameBytes = 255
    /// Bytes of an object.
    package static let objectBytes = 255
    /// Bytes of a message id.
    package static let messageIDBytes = 255
    package static let headerCount = 64
    /// Bytes of all encoded headers of a message.
    package static let headerBytes = 16 * 1024
    /// Bytes of a payload, unless configured otherwise.
    package static let defaultPayloadBytes = 1024 * 1024
    /// Bytes of a payload that no configuration may exceed.
    package static let maximumPayloadBytes = 64 * 1024 * 1024
    package static let subscriptionNameBytes = 64
    package static let patternsPerSubscription = 64
    package static let acknowledgedRangesPerFrame = 1024
    /// Durable messages in flight to one subscription, unless it asks for another window.
    package static let defaultWindow: UInt32 = 256
    package static let maximumWindow: UInt32 = 16_384
    /// Sequences stay below this, so that a double holds every one of them.
    package static let sequenceEnd: UInt64 = 1 << 53
    /// Bytes of a frame's body before the greeting is done.
    package static let greetingBytes = 512
    /// Bytes of a frame's body beside its payload, at most.
    package static let frameOverheadBytes = 64 * 1024

    /// Checks the name of a durable subscription: 1 to 64 of letters, digits, `.`, `_`, `-`.
    package static func validateSubscriptionName(_ name: String) throws(WireError) {
        let isAllowed = name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                true
            default: false
            }
        }
        guard isAllowed, (1...subscriptionNameBytes).contains(name.utf8.count) else {
            throw WireError(
                .invalidSubscriptionName,
                "a durable subscription's name is 1 to \(subscriptionNameBytes) of a-z A-Z 0-9 . _ -")
        }
    }
}
