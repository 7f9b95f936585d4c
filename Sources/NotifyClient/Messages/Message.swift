import NotifyWire

extension NotificationClient {
    /// A received message, with the sequence, time and poster's ids that the daemon added.
    ///
    /// Messages that arrived together share memory, and each of them keeps all of this memory allocated. To keep
    /// content for a long time, keep a copy, such as ``payload``, rather than the message.
    public struct Message: Sendable {
        let batch: MessageBatch
        let index: Int

        init(batch: MessageBatch, index: Int) {
            self.batch = batch
            self.index = index
        }

        private func read<Result>(_ body: (Delivery) -> Result) -> Result {
            batch.withDelivery(index, body)
        }

        var stamp: Stamp { read { $0.stamp } }

        /// The message's position in the daemon's order. Rises with every message and is never reused. Numbers may be
        /// skipped.
        public var sequence: UInt64 { batch.sequence(index) }

        /// The name under which the message was posted, such as `orders.created`.
        public var name: String { read { String(decoding: $0.parts.name, as: UTF8.self) } }

        /// The object, by which subscribers may filter in addition to the name; `nil` for none.
        public var object: String? {
            read { $0.parts.object.isEmpty ? nil : String(decoding: $0.parts.object, as: UTF8.self) }
        }

        /// The time at which the daemon accepted the message, in microseconds since 1970-01-01T00:00:00Z.
        public var timeMicroseconds: UInt64 { read { $0.stamp.timeMicroseconds } }

        /// The uid of the poster, as reported by the kernel to the daemon.
        public var uid: UInt32 { read { $0.stamp.uid } }

        /// The gid of the poster, as reported by the kernel to the daemon.
        public var gid: UInt32 { read { $0.stamp.gid } }

        /// The pid of the poster, as reported by the kernel when that process connected to the daemon.
        public var pid: UInt32 { read { $0.stamp.pid } }

        /// The headers, in the poster's order.
        public var headers: Headers {
            read { delivery in
                guard !delivery.parts.headers.isEmpty else { return Headers() }
                // The daemon refuses posts with invalid headers, so decoding does not fail.
                return Headers((try? HeaderList.decode(delivery.parts.headers)) ?? [])
            }
        }

        /// Whether the durable subscription *may* have delivered this message before. If false, this is certainly the
        /// first delivery.
        public var isRedelivered: Bool { batch.entries[index].isRedelivered }

        /// The number of this delivery by a durable subscription: 1 plus the recorded failures of the message.
        ///
        /// A delivery has failed if the message was rejected, if its deadline has passed, or if its client ended
        /// without leaving. The last case is no failure if the subscription is exclusive and has no maximum of
        /// deliveries. The number may be too low after a crash of the daemon, but is never too high.
        public var delivery: Int { Int(batch.entries[index].delivery) }

        /// A copy of the payload.
        public var payload: [UInt8] { read { Array($0.parts.payload) } }

        /// The payload as text; `nil` if it is not valid UTF-8.
        public var text: String? { read { String(validating: $0.parts.payload, as: UTF8.self) } }

        /// Calls `body` with the payload, without copying it. The bytes are valid only during the call.
        public func withPayload<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
            // Only the range of the payload is computed here; the batch keeps the bytes alive.
            let range = read { delivery in
                let end = Int(batch.entries[index].offset) + Int(batch.entries[index].length)
                return end - delivery.parts.payload.count..<end
            }
            return try batch.bytes.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[range])) }
        }

        /// Acknowledges the message, so that the durable subscription does not deliver it again.
        ///
        /// May be called from any thread and in any order of messages. Does not block: acknowledgements are sent in
        /// batches, in the background. Has no effect on volatile subscriptions, on messages that are already
        /// acknowledged, and after the subscription was left. A message that is not acknowledged when the subscription
        /// is left is delivered again at the next attachment.
        public func acknowledge() {
            batch.acknowledge(index)
        }
    }
}
