import NotifyCenter

extension CompatibleNotificationCenter {
    /// An observation of messages. It ends when the last copy of the token is released, or with
    /// ``CompatibleNotificationCenter/removeObserver(_:)-(CompatibleNotificationCenter.ObservationToken)``.
    ///
    /// A token retains the underlying center, and may be used on any thread.
    public struct ObservationToken: Hashable, Sendable {
        fileprivate final class Registration: Sendable {
            let observation: ObservationHandle

            init(_ observation: ObservationHandle) {
                self.observation = observation
            }

            deinit {
                observation.cancel()
            }
        }

        fileprivate let registration: Registration

        init(_ observation: ObservationHandle) {
            registration = Registration(observation)
        }

        /// Whether both tokens belong to the same observation.
        public static func == (left: ObservationToken, right: ObservationToken) -> Bool {
            left.registration === right.registration
        }

        /// Feeds the identity of the observation to the hasher.
        public func hash(into hasher: inout Hasher) {
            hasher.combine(ObjectIdentifier(registration))
        }
    }

    /// Ends an observation of messages. No call begins after this method returns; a call that has begun may still run.
    ///
    /// Has no effect if the token belongs to another center or its observation has ended.
    public func removeObserver(_ token: ObservationToken) {
        token.registration.observation.cancel(in: center, name: nil, object: nil)
    }
}
