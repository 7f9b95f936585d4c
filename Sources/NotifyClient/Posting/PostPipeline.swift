extension NotifyClient {
    /// Posts one after another without waiting for each receipt, and gives what became of them in the same order.
    ///
    /// One task posts while another reads ``results``. Both run within bounds: posting waits while as many posts as the
    /// pipeline's capacity are under way or not read yet, so always read the results.
    ///
    /// ```swift
    /// let pipeline = client.postPipeline()
    /// async let refused = pipeline.results.reduce(into: 0) { count, result in
    ///     if case .failure = result { count += 1 }
    /// }
    /// for order in orders {
    ///     try await pipeline.post(order)
    /// }
    /// pipeline.finish()
    /// print("refused: \(try await refused)")
    /// ```
    public final class PostPipeline: Sendable {
        /// What became of one post.
        public typealias Outcome = Result<Receipt, NotifyError>

        private let core: ClientCore
        private let buffer: PipelineBuffer

        init(core: ClientCore, capacity: Int) {
            self.core = core
            buffer = PipelineBuffer(capacity: capacity)
        }

        deinit {
            buffer.finish()
        }

        /// Posts a message, once there is room for it.
        ///
        /// - Throws: ``NotifyError`` with `cancelled`, or with `invalidArgument` after ``finish()``. What becomes of the
        ///   post is among the ``results``.
        public nonisolated(nonsending) func post(_ message: OutgoingMessage) async throws(NotifyError) {
            try await post(contentsOf: CollectionOfOne(message))
        }

        /// Posts messages in order, as far as there is room at a time.
        ///
        /// - Throws: As ``post(_:)``; some of the messages may have been posted then.
        public nonisolated(nonsending) func post(contentsOf messages: some Collection<OutgoingMessage>)
            async throws(NotifyError)
        {
            var rest = messages[...]
            while !rest.isEmpty {
                let reserved = try await buffer.reserve(rest.count)
                core.submit(rest.prefix(reserved.count), to: buffer, from: reserved.first)
                rest = rest.dropFirst(reserved.count)
            }
        }

        /// Says that no post follows: ``results`` end after the last one's.
        public func finish() {
            buffer.finish()
        }

        /// What became of the posts, in their order. One task may read them.
        public var results: Results { Results(batches: batches) }

        /// The same in batches, as they become known. One task may read them.
        public var batches: Batches { Batches(buffer: buffer) }
    }
}

extension NotifyClient.PostPipeline {
    /// Outcomes in batches, none of them empty.
    public struct Batches: AsyncSequence, Sendable {
        let buffer: PipelineBuffer

        /// Begins to read.
        public func makeAsyncIterator() -> Iterator { Iterator(buffer: buffer) }

        /// Reads the batches.
        public struct Iterator: AsyncIteratorProtocol {
            let buffer: PipelineBuffer

            /// The next batch; `nil` at the end.
            ///
            /// - Throws: ``NotifyError`` with `cancelled` in a task that is.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(NotifyError) -> [Outcome]? {
                let batch = try await buffer.next()
                return batch.isEmpty ? nil : batch
            }

            /// The next batch; `nil` at the end.
            ///
            /// - Throws: ``NotifyError`` with `cancelled` in a task that is.
            public mutating nonisolated(nonsending) func next() async throws(NotifyError) -> [Outcome]? {
                try await next(isolation: #isolation)
            }
        }
    }

    /// Outcomes one by one.
    public struct Results: AsyncSequence, Sendable {
        let batches: Batches

        /// Begins to read.
        public func makeAsyncIterator() -> Iterator { Iterator(batches: batches.makeAsyncIterator()) }

        /// Reads the outcomes.
        public struct Iterator: AsyncIteratorProtocol {
            var batches: Batches.Iterator
            var batch: ArraySlice<Outcome> = []

            /// The next outcome; `nil` at the end.
            ///
            /// - Throws: ``NotifyError`` with `cancelled` in a task that is.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(NotifyError) -> Outcome? {
                if batch.isEmpty {
                    guard let next = try await batches.next(isolation: actor) else { return nil }
                    batch = next[...]
                }
                return batch.popFirst()
            }

            /// The next outcome; `nil` at the end.
            ///
            /// - Throws: ``NotifyError`` with `cancelled` in a task that is.
            public mutating nonisolated(nonsending) func next() async throws(NotifyError) -> Outcome? {
                try await next(isolation: #isolation)
            }
        }
    }
}
