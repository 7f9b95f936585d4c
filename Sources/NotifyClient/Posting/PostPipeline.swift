extension NotificationClient {
    /// Posts messages without waiting for each receipt, and yields the outcomes in the order of posting.
    ///
    /// One task posts while another reads ``results``. Posting waits while the pipeline is full of posts that are
    /// pending or whose outcomes were not read, so the program must always read the results.
    ///
    /// A graceful shutdown of the service that runs one of these tasks ends the waits of both: posts that wait for a
    /// connection or for room fail with `cancelled`, and ``results`` ends once no post is pending. Posts for which
    /// there is a connection and room are still sent.
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
        /// The outcome of one post.
        package typealias Outcome = Result<Receipt, NotifyError>

        private let core: ClientCore
        private let buffer: PipelineBuffer

        init(core: ClientCore, capacity: Int, timeout: Duration?) {
            self.core = core
            buffer = PipelineBuffer(capacity: capacity, timeout: timeout) { [core] in core.endWaits() }
        }

        deinit {
            buffer.finish()
        }

        /// Posts a message once there is room for it. ``results`` yields the outcome.
        ///
        /// - Throws: ``NotifyError`` with `cancelled` in a cancelled task or, if there is no room, during a shutdown;
        ///   with `invalidArgument` after ``finish()``; with `forked` in the child of a fork.
        public nonisolated(nonsending) func post(_ message: OutgoingMessage) async throws(NotifyError) {
            core.staged(try await buffer.stage(core.withContext(message)), in: buffer)
        }

        /// Posts messages in order, waiting for room as needed.
        ///
        /// - Throws: The errors of ``post(_:)``. Some of the messages may already have been posted.
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

        /// Ends the pipeline: no further posts are accepted, and ``results`` ends after the last outcome.
        public func finish() {
            buffer.finish()
        }

        /// The outcomes, in the order of posting. Only one task may read them. They end after ``finish()``, and during
        /// a shutdown once no post is pending. Throws ``NotifyError`` with `cancelled` in a cancelled task.
        public var results: some AsyncSequence<Result<Receipt, NotifyError>, NotifyError> & Sendable {
            Results(buffer: buffer)
        }

        /// The outcomes in batches, as they become known. No batch is empty. Only one task may read them. Throws as
        /// ``results`` does.
        public var batches: some AsyncSequence<[Result<Receipt, NotifyError>], NotifyError> & Sendable {
            Batches(buffer: buffer)
        }
    }
}

extension NotificationClient.PostPipeline {
    /// The outcomes in batches.
    struct Batches: AsyncSequence, Sendable {
        let buffer: PipelineBuffer

        func makeAsyncIterator() -> Iterator { Iterator(buffer: buffer) }

        struct Iterator: AsyncIteratorProtocol {
            let buffer: PipelineBuffer

            mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(NotifyError) -> [Outcome]? {
                let batch = try await buffer.next()
                return batch.isEmpty ? nil : batch
            }

            mutating nonisolated(nonsending) func next() async throws(NotifyError) -> [Outcome]? {
                try await next(isolation: #isolation)
            }
        }
    }

    /// The outcomes, one by one.
    struct Results: AsyncSequence, Sendable {
        let buffer: PipelineBuffer

        func makeAsyncIterator() -> Iterator { Iterator(buffer: buffer) }

        struct Iterator: AsyncIteratorProtocol {
            let buffer: PipelineBuffer

            mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(NotifyError) -> Outcome? {
                try await buffer.nextOutcome()
            }

            mutating nonisolated(nonsending) func next() async throws(NotifyError) -> Outcome? {
                try await next(isolation: #isolation)
            }
        }
    }
}
