package import NotifyLog
import NotifyWire

/// The work that the store does for requests.
extension Store {
    package func perform(_ work: StoreWork, answer: @escaping @Sendable (StoreAnswer) -> Void) {
        let current = current
        queue.add { current.perform(work, answer) }
    }
}

extension CurrentLog {
    /// Does work, or begins to do it in slices.
    fileprivate func perform(_ work: StoreWork, _ answer: @escaping @Sendable (StoreAnswer) -> Void) {
        switch work {
        case .findSequence(let microseconds):
            answer(StoreAnswer(findSequence(atOrAfter: microseconds), as: StoreAnswer.found))
        case .summarize(let request): summarize(request) { answer(StoreAnswer($0, as: StoreAnswer.summarized)) }
        case .purge(let request): purge(request) { answer(StoreAnswer($0, as: StoreAnswer.purged)) }
        case .check: checkLog(progress: { answer(.checkAdvanced(percent: $0)) }, completion: { answer(.checked($0)) })
        case .measureBacklogs(let policy): measureBacklogs(under: policy) { answer(.backlogs($0)) }
        case .beginBackup(let target): beginBackup(target: target) { answer(.backupMade($0)) }
        case .readBackup(let offset, let maximumBytes):
            answer(
                .backupRead(
                    Result { () throws(WireError) in try readBackup(from: offset, maximumBytes: maximumBytes) }))
        case .endBackup: endBackup()
        }
    }
}
