import NotifyWire

extension NotificationClient {
    /// An error that a handler of ``work(on:as:object:parallel:timeout:onGap:_:)-([String],_,_,_,_,_,_)`` throws to choose the
    /// answer to its message.
    public struct JobError: Error, Hashable, Sendable, CustomStringConvertible {
        enum Answer: Hashable, Sendable {
            case reject(delay: Duration?)
            case giveBack(delay: Duration?)
            case deadLetter
        }

        let answer: Answer
        /// The reason why the message was not processed.
        public let description: String

        /// Rejects the message, which is then delivered again after a delay, as ``Message/reject(delay:reason:)`` does.
        public static func retry(_ reason: String = "", after delay: Duration? = nil) -> JobError {
            JobError(answer: .reject(delay: delay), description: reason)
        }

        /// Gives the message back, without counting the delivery as failed, as ``Message/giveBack(delay:)`` does.
        public static func giveBack(after delay: Duration? = nil) -> JobError {
            JobError(answer: .giveBack(delay: delay), description: "")
        }

        /// Makes the message a dead letter, as ``Message/deadLetter(reason:)`` does.
        public static func deadLetter(_ reason: String) -> JobError {
            JobError(answer: .deadLetter, description: reason)
        }
    }
}

extension NotificationClient.Message {
    /// Answers the message after its handler has thrown an error.
    func answer(_ error: any Error) {
        switch error {
        case let error as NotificationClient.JobError:
            switch error.answer {
            case .reject(let delay): reject(delay: delay, reason: error.description)
            case .giveBack(let delay): giveBack(delay: delay)
            case .deadLetter: deadLetter(reason: error.description)
            }
        case let error as NotifyError where error.code == .coding && error.detail == sequence:
            deadLetter(reason: error.message)
        default: reject(reason: "\(error)")
        }
    }
}
