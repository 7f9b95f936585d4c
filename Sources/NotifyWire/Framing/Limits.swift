/// The limits of the protocol. A daemon may be configured with lower limits; its welcome contains the limits that a
/// client must know.
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
    /// Headers that only the daemon adds, and their encoded bytes.
    package static let reservedHeaderCount = 16
    package static let reservedHeaderBytes = 4 * 1024
    /// Bytes of the reason for which a message was rejected.
    package static let reasonBytes = 1_280
    /// Dead letters in one request.
    package static let deadLettersPerFrame = 1024
    /// Bytes of a payload, unless configured otherwise.
    package static let defaultPayloadBytes = 1024 * 1024
    /// The largest payload, in bytes, that can be configured.
    package static let maximumPayloadBytes = 64 * 1024 * 1024
    package static let subscriptionNameBytes = 64
    package static let patternsPerSubscription = 64
    package static let acknowledgedRangesPerFrame = 1024
    /// Unanswered requests of a connection to read the log.
    package static let logReadsPerConnection = 8
    /// The most names in a summary of the log.
    package static let namesPerLogSummary: UInt32 = 10_000
    /// Messages in a page of the log.
    package static let messagesPerLogPage: UInt32 = 4096
    /// The default window: durable messages in flight to one subscription.
    package static let defaultWindow: UInt32 = 256
    package static let maximumWindow: UInt32 = 16_384
    /// Clients attached to a durable subscription. A takeover, a reset and an edit end all attachments in one step:
    /// 10,000 took 9 ms, 100,000 took 130 ms.
    package static let membersPerSubscription = 16_384
    /// Calls that a server may hold at the same time.
    package static let maximumConcurrency: UInt32 = 16_384
    /// The longest time limit of a request to a server.
    package static let maximumAskTimeout = Duration.seconds(3_600)
    /// The longest time that an announced value stays after its connection has ended.
    package static let maximumGrace = Duration.seconds(600)
    /// Sequences stay below this number, so that a double represents each of them exactly.
    package static let sequenceEnd: UInt64 = 1 << 53
    /// The maximum size of a frame's body, in bytes, until the hello is accepted.
    package static let greetingBytes = 512
    /// The maximum size of a frame's body, in bytes, without its payload.
    package static let frameOverheadBytes = 64 * 1024

    /// Checks the name of a durable subscription: 1 to 64 ASCII letters, digits, `.`, `_` and `-`.
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
