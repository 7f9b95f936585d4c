import NotifyClient

/// Prints a subscription, and acknowledges what was written out.
struct MessagePrinter {
    let format: MessageFormat

    /// Returns at the end of the subscription, or in a task that is cancelled.
    func print(_ subscription: NotifyClient.Subscription, interruption: Int32) async throws {
        var output = StandardOutput(interruption: interruption)
        for try await batch in subscription.batches {
            for gap in batch.gaps { StandardError.say("\(gap)") }
            var rest = batch.messages[...]
            while !rest.isEmpty { rest = try printSome(of: rest, to: &output) }
        }
    }

    /// Prints as many messages as make one large write; answers the others.
    private func printSome(
        of messages: Slice<NotifyClient.Subscription.MessageSlice>, to output: inout StandardOutput
    ) throws -> Slice<NotifyClient.Subscription.MessageSlice> {
        var ends: [Int] = []
        for message in messages {
            output.gather { format.append(message, to: &$0) }
            ends.append(output.buffer.count)
            if output.isFull { break }
        }
        do {
            try output.flush()
        } catch {
            // What was written whole is done with; the rest comes again to whoever attaches next.
            let written = output.writtenBytes
            for (message, end) in zip(messages, ends) where end <= written { message.acknowledge() }
            throw error
        }
        for message in messages.prefix(ends.count) { message.acknowledge() }
        return messages.dropFirst(ends.count)
    }
}
