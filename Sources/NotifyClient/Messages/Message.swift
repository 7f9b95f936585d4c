import NotifyWire

extension NotifyClient {
    /// A message that a subscription got, with the daemon's stamp.
    ///
    /// It refers to the bytes it arrived in, together with what arrived around it; keep its ``payload`` rather than the
    /// message where you keep something for long.
    public struct Message: Sendable {
        private let batch: MessageBatch
        private let index: Int

        init(batch: MessageBatch, index: Int) {
            self.batch = batch
            self.index = index
        }

        private func read<Result>(_ body: (Deliver) -> Result) -> Result {
            batch.withDelivery(index, body)
        }

        /// The message's place in the daemon's order. Rises with every message, is never used twice, and has holes.
        public var sequence: UInt64 { batch.sequence(index) }

        /// What the message is about, such as `orders.created`.
        public var name: String { read { String(decoding: $0.parts.name, as: UTF8.self) } }

        /// What the poster gave to filter by, beside the name.
        public var object: String? {
            read { $0.parts.object.isEmpty ? nil : String(decoding: $0.parts.object, as: UTF8.self) }
        }

        /// When the daemon took the message, in microseconds since 1970-01-01T00:00:00Z.
        public var timeMicroseconds: UInt64 { read { $0.stamp.timeMicroseconds } }

        /// The user who posted it, as the kernel named it to the daemon.
        public var uid: UInt32 { read { $0.stamp.uid } }

        /// The group of the process that posted it, as the kernel named it to the daemon.
        public var gid: UInt32 { read { $0.stamp.gid } }

        /// The process that posted it, as the kernel named it to the daemon when that process connected.
        public var pid: UInt32 { read { $0.stamp.pid } }

        /// Keys with values, in the poster's order.
        public var headers: Headers {
            read { delivery in
                guard !delivery.parts.headers.isEmpty else { return Headers() }
                // The daemon takes no post whose headers break the rules, so there is nothing to lose here.
                return Headers((try? HeaderList.decode(delivery.parts.headers)) ?? [])
            }
        }

        /// Whether this message *may* have been seen before by this durable subscription; without it, it certainly was not.
        public var isRedelivered: Bool { batch.entries[index].isRedelivered }

        /// Whether this message belongs to a snapshot: older messages that the daemon hands over when a subscription begins,
        /// ahead of the live ones. Acknowledging it has no effect.
        public var isSnapshot: Bool { batch.entries[index].isSnapshot }

        /// The content, copied out.
        public var payload: [UInt8] { read { Array($0.parts.payload) } }

        /// The content where it is UTF-8, else `nil`.
        public var text: String? { read { String(validating: $0.parts.payload, as: UTF8.self) } }

        /// Hands out the content without copying it. The bytes are only valid during the call.
        public func withPayload<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
            // Reading gives the place of the payload; the batch, which the message holds, keeps it there.
            let range = read { delivery in
                let end = Int(batch.entries[index].offset) + Int(batch.entries[index].length)
                return end - delivery.parts.payload.count..<end
            }
            return try batch.bytes.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[range])) }
        }

        /// Says that the message is done with, so that this durable subscription never gets it again.
        ///
        /// Acknowledgements are gathered and sent together at once; any thread may call this, in any order of messages.
        /// Does nothing for volatile subscriptions, for what is acknowledged already, and after the subscription was left:
        /// then the message comes again.
        public func acknowledge() {
            batch.acknowledge(index)
        }
    }
}
